"""The texts around the replies in a sheet and on the page, in the languages in which Tripos has words for it."""

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
        "previous": "Previous",
        "next": "Next",
        "of": "of",
        "graded": "graded",
        "saved": "Saved",
        "unsaved": (
            "Not saved: nothing answers where this page was started. Start it there again with the same command, and"
            " give the last grades once more on the new page."
        ),
        "done": "All replies are graded. Press Ctrl-C where the page was started.",
        "next_open": "Next without grade",
        "keys": (
            "Keys: 1–9 give a grade (0 for 10) and go to the next criterion, n next, p previous, u next without grade,"
            " r rationale, Esc leaves a text, Backspace takes a grade away."
        ),
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
        "previous": "上一条",
        "next": "下一条",
        "of": "/",
        "graded": "已评",
        "saved": "已保存",
        "unsaved": "未保存：服务没有响应。请用同一命令重新启动，并在新页面上补评最后几项。",
        "done": "全部评完。请在启动本页的终端按 Ctrl-C。",
        "next_open": "下一条未评",
        "keys": (
            "快捷键：1–9 打分（0 为 10 分）并跳到下一指标，n 下一条，p 上一条，u 下一条未评，r 理由，"
            "Esc 退出输入框，退格键撤销打分。"
        ),
    }
)
WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType({"en": ENGLISH, "zh": CHINESE})

_NAMES = MappingProxyType(
    {"task": "任务", "response": "回答", "reply": "回答", "question": "问题", "reference": "参考答案"}
)


def words_for(language: str) -> Mapping[str, str]:
    """Return the words for a language, English where there are none.

    >>> words_for("zh")["next"], words_for("fr")["next"]
    ('下一条', 'Next')
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
