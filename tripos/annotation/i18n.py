"""Texts of the grading sheet and page, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ENGLISH = MappingProxyType(
    {
        "grades": "Grades",
        "rubric": "Rubric",
        "texts": "Long texts",
        "number": "No.",
        "scenario": "Scenario",
        "rationale": "Rationale",
        "metric": "Criterion",
        "asks": "Asks",
        "score": "Score",
        "level": "Level",
        "whole": "… the whole text is on the sheet",
        "off": "Choose a value of the scale:",
        "prompt": "Prompt",
        "yes": "Yes",
        "no": "No",
    }
)
CHINESE = MappingProxyType(
    {
        "grades": "评分",
        "rubric": "评分标准",
        "texts": "长文本",
        "number": "序号",
        "scenario": "场景",
        "rationale": "理由",
        "metric": "指标",
        "asks": "考察内容",
        "score": "分数",
        "level": "等级说明",
        "whole": "……全文见工作表",
        "off": "请选择量表中的分值：",
        "prompt": "提示",
        "yes": "是",
        "no": "否",
    }
)
WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType({"en": ENGLISH, "zh": CHINESE})

_NAMES = MappingProxyType(
    {"task": "任务", "response": "回答", "reply": "回答", "question": "问题", "reference": "参考答案"}
)


def words_for(language: str) -> Mapping[str, str]:
    """Return the texts for a language; English if there are none.

    >>> words_for("zh")["rubric"], words_for("fr")["rubric"]
    ('评分标准', 'Rubric')
    """
    return WORDS.get(language, ENGLISH)


def label_of(name: str, language: str) -> str:
    """Return a parameter of a scorer as a heading.

    >>> label_of("reference_answer", "en"), label_of("task", "zh")
    ('Reference answer', '任务')
    """
    if language == "zh" and name in _NAMES:
        return _NAMES[name]
    return name.replace("_", " ").capitalize()
