"""The replies of `mock/author`: what writes data sets where no model is to be asked.

It writes something else for every request, in the language of the request, and errs as authors do: about one reply in
twenty is always the same, one in twenty is nearly that, and one in forty cannot be read. Asked whether something is so,
it says yes nine times in ten. Where the request asks for lines of their own, a text has four more, lettered A. to D.
"""

from __future__ import annotations

import json
from typing import Any

from tripos_runtime.models.mocks.mock_values import ANY_JSON, draw, value_of

REPEATS, NEARLY, BROKEN, NO = 20, 20, 40, 10
"""Once in so many replies."""
LENGTH = 14
LINES = ("line of its own", json.dumps("单独一行")[1:-1])
"""The words of a request for several lines, as they stand in a key."""
LETTERS = "ABCD"
ENGLISH = """
account angle answer balance bridge calendar cell chapter circle climate colour compass current degree desert diagram
distance engine equation evidence factor field figure forest fraction garden gravity harbour history island journey
kingdom language lesson letter library market measure melody metal minute mirror motion mountain number orbit paper
pattern planet poem pressure price question ratio region river sample season sentence shadow signal solution source
speed square station story symbol table temperature theory triangle valley variable vector village voltage volume water
weather window winter
""".split()  # noqa: SIM905 - a line of quotation marks each says no more
CHINESE = (
    "账户角度答案平衡桥梁日历细胞章节圆形气候颜色指南电流程度沙漠图表距离引擎方程证据因素田野数字森林分数花园重力港口"
    "历史岛屿旅程王国语言课程信件图书市场测量旋律金属分钟镜子运动山脉轨道纸张模式行星诗歌压力价格问题比例区域河流样本"
    "季节句子影子信号方法来源速度方形车站故事符号表格温度理论三角山谷变量向量村庄电压体积水流天气窗户冬天"
)


def author_text(schema: dict[str, Any] | None, key: str, *, chinese: bool) -> str:
    """Return what the author replies to a request that `key` tells from others.

    >>> one, other = (author_text(None, key, chinese=False) for key in ("a", "b"))
    >>> one == other, one == author_text(None, "a", chinese=False)
    (False, True)
    """
    lettered = any(words in key for words in LINES)
    kind = draw(REPEATS * NEARLY * BROKEN, key, "kind")
    near = kind % NEARLY == 1
    if kind % REPEATS == 0 or near:
        key = f"again {json.dumps(schema, sort_keys=True)}"
    if schema is None:
        return _nearly(written(key, chinese=chinese), near, chinese=chinese)
    value = _value(schema, key, near, chinese=chinese, lettered=lettered)
    text = json.dumps(value, ensure_ascii=False)
    return text[: len(text) // 2] if kind % BROKEN == 2 else text


def written(key: str, *, chinese: bool) -> str:
    """Return a text that hardly any other key has: words that need not make sense."""
    number = draw(1000, key, "number")
    picks = [draw(1 << 30, key, str(place)) for place in range(LENGTH)]
    if chinese:
        words = [CHINESE[2 * (pick % (len(CHINESE) // 2)) :][:2] for pick in picks]
        return f"{''.join(words[:7])}，{''.join(words[7:])}，共有{number}个吗？"
    words = [ENGLISH[pick % len(ENGLISH)] for pick in picks]
    return f"How does the {' '.join(words[:7])} change if {number} of the {' '.join(words[7:])} are left?"


def _value(schema: dict[str, Any], key: str, near: bool, *, chinese: bool, lettered: bool) -> Any:
    schema = schema or ANY_JSON
    if "enum" in schema:
        return value_of(schema, key, "mixed", chinese=chinese)
    match schema.get("type"):
        case "object":
            parts: dict[str, Any] = schema.get("properties", {})
            return {
                name: _value(part, f"{key}/{name}", near, chinese=chinese, lettered=lettered)
                for name, part in parts.items()
            }
        case "array" if not schema.get("uniqueItems"):
            of = schema.get("items", {})
            return [
                _value(of, f"{key}/{place}", near, chinese=chinese, lettered=lettered)
                for place in range(1 + draw(3, key))
            ]
        case "string":
            lines = [_nearly(written(key, chinese=chinese), near, chinese=chinese)]
            if lettered:
                lines += [f"{letter}. {written(f'{key}/{letter}', chinese=chinese)}" for letter in LETTERS]
            return "\n".join(lines)[: schema.get("maxLength")]
        case "boolean":
            return draw(NO, key, "yes") != 0
    return value_of(schema, key, "mixed", chinese=chinese)


def _nearly(text: str, near: bool, *, chinese: bool) -> str:
    return f"{'请问' if chinese else 'Tell me:'} {text}" if near else text
