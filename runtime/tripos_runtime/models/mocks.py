"""Mock models: deterministic characters without a network, for first runs, tests and demonstrations.

A reply is a function of the request and the model's name. `mock/careful:ada` is as careful as `mock/careful` and judges
differently, so several of them make a panel. Mocks never see a gold answer, so the share of right letters is chance. A
careful free reply has the form that the prompt states or its shots show, else one that the scores can read.

- `mock/author` writes data sets. Every request gets another text in its own language. About one reply in twenty is a
  duplicate, one in twenty a near-duplicate, and one in forty unreadable. Nine of ten yes-or-no questions get a yes. If
  the request asks for separate lines, its text has four more, lettered A. to D.
- `mock/careless` fits a schema, with the defects that replies of real models have.
- `mock/student` answers sums, differences and products with several options. It computes the right one and gives it
  with a chance of its own for every question, spread evenly around its ability. A lesson is a dialogue in which it took
  part; it closes a share of the gap, its rate. So the true figures are known: a pass@1 of the ability, and a gain of
  rate · (1 − ability).
- `mock/teacher` says something new at every turn and ends after two to four turns of its own, by the dialogue. Its last
  turn says in bold what its system message writes in capitals, such as `TEACH DONE`; without such words it never ends.
  If asked for a list of texts, it picks one or two of the points in the prompt, as tagging asks for.
- Offered tools, a mock calls them as a function of the request alone."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tripos_compiler.library.media import media_in, without_media
from tripos_compiler.plan import OptionLikelihood, ToolCall, write_calls, write_likelihoods, write_token_probabilities
from tripos_runtime.models.base import FREE, RESULT, Message, Model, ModelError, Reply, Request, StatedReply
from tripos_runtime.models.chat_completions import as_objects
from tripos_runtime.models.prices import media_tokens

Mood = Literal["kind", "mixed"]
"""`kind` draws integers from the upper two fifths of their range, `mixed` from the whole range."""

ENGLISH = (
    "The main idea is stated clearly and then worked through step by step.",
    "Each step follows from the one before it, so the argument is easy to check.",
    "A short example shows how the rule is used in practice.",
    "The wording suits the level of the learner.",
    "One detail could be explained more fully, though nothing is wrong.",
    "It helps to compare the result with an estimate made beforehand.",
    "The closing sentence sums up what was shown.",
    "A common mistake is named, and the way round it is given.",
)
CHINESE = (
    "主要观点表述清楚，并且逐步展开。",
    "每一步都由前一步得出，便于检查。",
    "一个简短的例子说明了规则的用法。",
    "用词适合学习者的水平。",
    "有一个细节可以讲得更充分，但没有错误。",
    "把结果与事先的估计相比较会有帮助。",
    "最后一句总结了全文。",
    "指出了一个常见错误，并给出了避免的办法。",
)

ANY_JSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": "string"},
        "number": {"type": "integer"},
        "sure": {"type": "boolean"},
        "parts": {"type": "array", "items": {"type": "string"}},
    },
}
"""The form in which mocks answer if any JSON is allowed."""


def draw(size: int, *parts: str) -> int:
    """Return a number from 0 to `size - 1` that depends only on the parts.

    >>> draw(10, "a", "b") == draw(10, "a", "b") and 0 <= draw(10, "a", "b") < 10
    True
    """
    name = json.dumps(parts).encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()) % size


def sentences(count: int, key: str, *, chinese: bool) -> str:
    """Return `count` different sentences (8 at most), in Chinese or English."""
    pool = list(CHINESE if chinese else ENGLISH)
    chosen = [pool.pop(draw(len(pool), key, str(index))) for index in range(min(count, len(pool)))]
    return ("" if chinese else " ").join(chosen)


def value_of(schema: dict[str, Any], key: str, mood: Mood, *, chinese: bool = False) -> Any:
    """Return a value that fits the schema; the same key gives the same value. If any JSON fits, it is an object.

    >>> score = value_of({"type": "integer", "minimum": 1, "maximum": 10}, "k", "kind")
    >>> 7 <= score <= 10
    True
    >>> value_of({"type": "object", "properties": {"a": {"type": "null"}}}, "k", "kind")
    {'a': None}
    """
    schema = schema or ANY_JSON
    if "enum" in schema:
        return schema["enum"][draw(len(schema["enum"]), key)]
    if "anyOf" in schema:
        options = [option for option in schema["anyOf"] if option.get("type") != "null"]
        return value_of(options[0], key, mood, chinese=chinese) if options else None
    match schema.get("type"):
        case "object":
            properties: dict[str, Any] = schema.get("properties", {})
            return {name: value_of(part, f"{key}/{name}", mood, chinese=chinese) for name, part in properties.items()}
        case "array":
            count = max(int(schema.get("minItems", 1)), min(int(schema.get("maxItems", 3)), 1 + draw(3, key)))
            items = [
                value_of(schema.get("items", {}), f"{key}/{index}", mood, chinese=chinese) for index in range(count)
            ]
            return _distinct(items) if schema.get("uniqueItems") else items
        case "integer":
            return _integer(schema, key, mood)
        case "number":
            low, high = float(schema.get("minimum", 0)), float(schema.get("maximum", schema.get("minimum", 0) + 1))
            return round(low + (high - low) * draw(1001, key) / 1000, 3)
        case "boolean":
            return draw(2, key) == 1
        case "null":
            return None
        case _:
            return sentences(1, key, chinese=chinese)[: schema.get("maxLength")]


def _integer(schema: dict[str, Any], key: str, mood: Mood) -> int:
    low = int(schema.get("minimum", min(0, schema.get("maximum", 0))))
    high = int(schema.get("maximum", low + 10))
    span = high - low + 1
    return high - draw(span if mood == "mixed" else math.ceil(span * 0.4), key)


def _distinct(items: list[Any]) -> list[Any]:
    return [item for index, item in enumerate(items) if item not in items[:index]]


LINE = re.compile(r"^[^\S\n]*[(（\[【]?([^\W\d_]{1,4})(?:[.．、)）\]】]|[:：](?=\s))[^\S\n]*(\S.*)$")
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
BARE = re.compile(
    r"(?i)\b(?:only|just|nothing but|single|one)\s+(?:the\s+)?letter\b|\bletter\s+(?:only|alone)\b"
    r"|\b(?:answer|reply)\s+with\s+(?:a|the)\s+letter\b|只.{0,6}字母"
)
"""The words of a prompt that asks for a letter and nothing else."""


BRACKETED = re.compile(r"\[\[([^\[\]\n]{1,16})\]\]")
"""A verdict in double brackets, as in MT-Bench and Arena-Hard: `[[rating]]`, `[[A>B]]`."""
SCALE = re.compile(r"\b(\d+) (?:to|and) (\d+)\b")
FORM = re.compile(r"^\S+ <([^<>\n]+)>$", re.MULTILINE)
"""A line of a form to fill in, as in StrongREJECT: `2.b <an answer, 1 to 5>`."""


def letters_shown(text: str) -> list[str]:
    """Return the letters of the options that a text shows on consecutive lines, in the last such block; none if there
    is no block.

    >>> letters_shown("What is 2 + 2?\\n(A) 3\\n(B) 4"), letters_shown("哪个？\\n甲. 三\\n乙. 四")
    (['A', 'B'], ['甲', '乙'])
    >>> letters_shown("Q: What is 2 + 2?\\nA: 4"), letters_shown("1. Read.\\n2. Write.")
    ([], [])
    """
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        match = LINE.match(line)
        if match is None:
            blocks += [[]] if line.strip() else []
        elif _follows(blocks[-1], match[1]):
            blocks[-1].append(match[1])
        else:
            blocks.append([match[1]] if _follows([], match[1]) else [])
    return next((block for block in reversed(blocks) if len(block) > 1), [])


def _follows(before: Sequence[str], letter: str) -> bool:
    """Return true if a letter may be the next option. Latin letters and Roman numerals follow their order, others any
    order."""
    place = len(before)
    if letter.isascii():
        orders = (ROMAN, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
        return any(list(order[: place + 1]) == [*before, letter] for order in orders)
    return len(letter) == 1 and letter not in before and not any(each.isascii() for each in before)


def answer_with_letter(text: str, asked: str, key: str, *, plain: bool, chinese: bool) -> str:
    """Return a free reply that ends with the letter of an option, if `asked` shows options; the letter alone if that is
    asked for, or if the reply continues a text.

    >>> asked = "What is 2 + 2?\\nA. 3\\nB. 4\\nExplain it."
    >>> answer_with_letter("Let us see.", asked, "k", plain=False, chinese=False)
    'Let us see. The answer is A.'
    >>> answer_with_letter("Let us see.", "Why?", "k", plain=False, chinese=False)
    'Let us see.'
    """
    letters = letters_shown(asked)
    if not letters:
        return text
    letter = letters[draw(len(letters), key, "letter")]
    if plain or BARE.search(asked):
        return letter
    return f"{text}答案是{letter}。" if chinese else f"{text} The answer is {letter}."


def answer_in_brackets(text: str, asked: str, key: str) -> str:
    """Return a free reply that ends with a verdict in double brackets, if `asked` shows the form: for `[[rating]]` a
    number of the first scale named, or 1 to 10; of several verdicts one.

    >>> answer_in_brackets("Good.", "Rate it from 1 to 5 so: [[rating]].", "k"), answer_in_brackets("Good.",
    ... "Rate it.", "k")
    ('Good. [[1]]', 'Good.')
    >>> answer_in_brackets("Good.", "Say [[A>B]], [[A=B]] or [[B>A]].", "k")
    'Good. [[A>B]]'
    """
    shown = sorted(set(BRACKETED.findall(asked)))
    if any(each.lower() == "rating" for each in shown):
        low, high = map(int, scale.groups() if (scale := SCALE.search(asked)) else ("1", "10"))
        return f"{text} [[{low + draw(max(high - low + 1, 1), key, 'rating')}]]"
    return f"{text} [[{shown[draw(len(shown), key, 'verdict')]}]]" if len(shown) > 1 else text


def answer_in_form(text: str, asked: str, key: str) -> str:
    """Return a free reply in the form that `asked` shows, if the form has two lines or more: a number for a hole that
    names a scale, the text for every other.

    >>> answer_in_form("Well.", "Write so:\\n1.a <why>\\n1.b <how good, 1 to 5>\\nBe fair.", "k")
    '1.a Well.\\n1.b 5'
    >>> answer_in_form("Well.", "Write <why>.", "k")
    'Well.'
    """
    lines = [*FORM.finditer(asked)]
    if len(lines) < 2:
        return text

    def filled(line: re.Match[str]) -> str:
        named = SCALE.search(line[1])
        low, high = map(int, named.groups() if named else (0, 0))
        said = str(low + draw(max(high - low + 1, 1), key, line[0])) if named else text
        return line[0].replace(f"<{line[1]}>", said)

    return FORM.sub(filled, asked[lines[0].start() : lines[-1].end()])


BOXED = re.compile(r"\\boxed\s*\{")
TAGGED = re.compile(r"<(answer|final_answer|result)>[^<\n]{0,40}</\1>", re.IGNORECASE)
MARKED = re.compile(r"####(?=\s|$|[`'\"”])")
HOLE = r"(?:[<\[{(（＜【][^<>\[\]{}()【】\n]{1,40}[>\]})）＞】]|(?-i:\$?[A-Z_]{1,12}\b)|\.{3}|…|_{2,})"
LABELLED = re.compile(
    rf"\b((?:final |correct )?answer|result|solution)\s*:\s*{HOLE}|(答案|最终答案|结果)\s*[:：]\s*{HOLE}", re.IGNORECASE
)
"""A line of an answer as a prompt states it: `Answer: X`, `Final answer: <number>`, `答案：…`."""
YES_OR_NO = re.compile(r"\b(yes|true)\s*(?:or|/)\s*(no|false)\b|(是|对)(?:或|还是|／|/)(否|不是|错)", re.IGNORECASE)
JSON_ASKED = re.compile(r"\bJSON\b")
JSON_KEYS = re.compile(
    r"\b(?:keys?|fields?)\b[^\n]{0,20}?((?:[\"'`]\w{1,40}[\"'`](?:\s*(?:,|and|, and|、|和)\s*)?)+)", re.IGNORECASE
)
QUOTED = re.compile(r"[\"'`](\w{1,40})[\"'`]")
NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d{1,6})?(?![\w.]*\d)")
SHORT = 80
"""The largest number of characters of a shot's reply that shows a form."""
WORD_LENGTH = 24
"""The largest number of characters of a shot's reply that is a word or a name."""
LARGEST = 20
"""The largest number that a mock answers where the form says nothing about its size."""


def answer_as_stated(text: str, asked: str, key: str) -> str:
    """Return a free reply that ends with an answer in the form that `asked` states: `\\boxed{}`, `<answer>…</answer>`,
    `####`, a line such as `Answer: X`, yes or no. The answer is a number from 0 to 20 that depends on `key`.

    >>> [answer_as_stated("Well.", asked, "k") for asked in ("End with `Answer: X`.", "Use \\\\boxed{}.", "Yes or no?")]
    ['Well.\\nAnswer: 4', 'Well. \\\\boxed{4}', 'Well. No.']
    >>> answer_as_stated("Well.", "Why?", "k")
    'Well.'
    """
    number = str(draw(LARGEST + 1, key, "number"))
    if BOXED.search(asked):
        return f"{text} \\boxed{{{number}}}"
    if tag := TAGGED.search(asked):
        return f"{text} <{tag[1]}>{number}</{tag[1]}>"
    if MARKED.search(asked):
        return f"{text}\n#### {number}"
    if labels := [*LABELLED.finditer(asked)]:
        label = labels[-1]
        return f"{text}\n{label[1]}: {number}" if label[1] else f"{text}\n{label[2]}：{number}"
    if choice := YES_OR_NO.search(asked):
        one, other = (choice[1], choice[2]) if choice[1] else (choice[3], choice[4])
        said = (one, other)[draw(2, key, "yes")].capitalize()
        return f"{text}{said}。" if choice[3] else f"{text} {said}."
    return text


def answer_as_read(text: str, readable: Sequence[str], key: str) -> str:
    """Return one of the replies that the scores can read: a sentence after the text, anything else alone. The text if
    there are none.

    >>> answer_as_read("Well.", ("The answer is #.",), "k"), answer_as_read("Well.", ("#",), "k")
    ('Well.\\n\\nThe answer is 4.', '4')
    >>> answer_as_read("Well.", (), "k")
    'Well.'
    """
    if not readable:
        return text
    said = readable[draw(len(readable), key, "read")].replace("#", str(draw(LARGEST + 1, key, "number")))
    return f"{text}\n\n{said}" if said.endswith(".") else said


def json_as_stated(asked: str, key: str, *, chinese: bool) -> str | None:
    """Return JSON with the keys that `asked` names, in an example or in words; None if it asks for none. A number in
    the example is a number, and any other value a sentence.

    >>> list(json.loads(json_as_stated('Reply as JSON with the keys "mark" and "why".', "k", chinese=False)))
    ['mark', 'why']
    >>> json_as_stated('Reply as JSON: {"mark": 4}', "k", chinese=False), json_as_stated("Why?", "k", chinese=False)
    ('{"mark": 2}', None)
    """
    if not JSON_ASKED.search(asked):
        return None
    example = next((found for found in map(_json_example, EXAMPLE.findall(asked)) if found), None)
    if example is None:
        named = JSON_KEYS.search(asked)
        example = dict.fromkeys(QUOTED.findall(named[1]), "") if named else {}
    if not example:
        return None
    value = {name: _value_like(shown, f"{key}/{name}", chinese=chinese) for name, shown in example.items()}
    return json.dumps(value, ensure_ascii=False)


EXAMPLE = re.compile(r"\{\s*\"[^{}]{1,600}\}")


def _json_example(text: str) -> dict[str, Any]:
    """Return the example of an object in a prompt; holes such as `<number>` and `...` are texts."""
    try:
        return dict(json.loads(text))
    except ValueError:
        return {name: hole.strip() for name, hole in re.findall(r'"(\w{1,40})"\s*:\s*([^,}\n]{1,80})', text)}


def _value_like(shown: Any, key: str, *, chinese: bool) -> Any:
    if isinstance(shown, bool) or (isinstance(shown, str) and re.search(r"\btrue\b|\bbool", shown)):
        return draw(2, key) == 1
    if isinstance(shown, list):
        return [_value_like(each, f"{key}/{place}", chinese=chinese) for place, each in enumerate(shown)]
    if isinstance(shown, int | float):
        size = 0 if isinstance(shown, float) and not math.isfinite(shown) else round(abs(shown))
        return draw(max(10, 2 * size) + 1, key)
    if isinstance(shown, str) and (scale := re.search(r"(\d+)\s*(?:-|–|to|\.\.)\s*(\d+)", shown)):
        low, high = sorted((int(scale[1]), int(scale[2])))
        return low + draw(high - low + 1, key)
    if isinstance(shown, str) and re.search(r"number|integer|score|int\b", shown, re.IGNORECASE):
        return draw(LARGEST + 1, key)
    return sentences(1, key, chinese=chinese)


def answer_as_shown(messages: Sequence[Message], key: str) -> str | None:
    """Return a reply in the form of the replies that the shots of a request show; None if they show none. If all of
    them have a number, the last number of one is replaced by another; if they are words, it is one.

    >>> shots = [Message("user", "1 + 1"), Message("assistant", "A: 2")]
    >>> answer_as_shown([*shots, Message("user", "2 + 2")], "k")
    'A: 7'
    >>> answer_as_shown([Message("user", "2 + 2")], "k") is None
    True
    """
    shown = [message.content.strip() for message in messages[:-1] if message.role == "assistant"]
    if not shown or any(not reply or len(reply) > SHORT for reply in shown):
        return None
    reply = shown[draw(len(shown), key, "shot")]
    if all(NUMBER.search(each) for each in shown):
        last = [*NUMBER.finditer(reply)][-1]
        digits = len(last[0].partition(".")[0])
        number = draw(10**digits, key, "number")
        return f"{reply[: last.start()]}{number}{reply[last.end() :]}"
    if all(len(each.split()) <= 3 and len(each) <= WORD_LENGTH for each in shown):
        return reply
    return None


SHOTS_IN_TEXT = re.compile(
    r"^\s*(Q(?:uestion)?|问题?)\s*[:：](.*)\n\s*(A(?:nswer)?|答案?)\s*[:：](.*)$", re.MULTILINE | re.IGNORECASE
)


def shots_in_text(asked: str) -> list[Message]:
    """Return the questions and answers that a prompt has in its text, and its last question.

    >>> [message.content for message in shots_in_text("Q: 1 + 1?\\nA: 2\\n\\nQ: 2 + 2?\\nA:")]
    [' 1 + 1?', ' 2', 'Q: 2 + 2?\\nA:']
    """
    shots: list[Message] = []
    end = 0
    for match in SHOTS_IN_TEXT.finditer(asked):
        if match[4].strip():
            shots += [Message("user", match[2]), Message("assistant", match[4])]
            end = match.end()
    return [*shots, Message("user", asked[end:].strip())] if shots else []


def careless_answer(asked: str, key: str, *, plain: bool, chinese: bool) -> str:
    """Return a careless free reply. If options are shown, one reply in eight names none, and one in eight names two.

    >>> asked = "What is 2 + 2?\\nA. 3\\nB. 4\\nExplain it."
    >>> len({careless_answer(asked, f"{key}", plain=False, chinese=False)[-16:] for key in range(40)}) > 3
    True
    """
    text = sentences(1, key, chinese=chinese)
    letters = letters_shown(asked)
    match draw(8, key, "answer") if letters else 0:
        case 0:
            return text
        case 1:
            one, other = letters[:2]
            return f"{text}答案是{one}或{other}。" if chinese else f"{text} The answer is {one} or {other}."
    return answer_with_letter(text, asked, key, plain=plain, chinese=chinese)


REPEATS, NEARLY, BROKEN, NO = 20, 20, 40, 10
"""Frequencies: once in this number of replies."""
LENGTH = 14
LINES = ("line of its own", json.dumps("单独一行")[1:-1])
"""The words of a request for several lines, as a key contains them."""
LETTERS = "ABCD"
AUTHOR_ENGLISH = """
account angle answer balance bridge calendar cell chapter circle climate colour compass current degree desert diagram
distance engine equation evidence factor field figure forest fraction garden gravity harbour history island journey
kingdom language lesson letter library market measure melody metal minute mirror motion mountain number orbit paper
pattern planet poem pressure price question ratio region river sample season sentence shadow signal solution source
speed square station story symbol table temperature theory triangle valley variable vector village voltage volume water
weather window winter
""".split()  # noqa: SIM905 - a line of quotation marks each says no more
AUTHOR_CHINESE = (
    "账户角度答案平衡桥梁日历细胞章节圆形气候颜色指南电流程度沙漠图表距离引擎方程证据因素田野数字森林分数花园重力港口"
    "历史岛屿旅程王国语言课程信件图书市场测量旋律金属分钟镜子运动山脉轨道纸张模式行星诗歌压力价格问题比例区域河流样本"
    "季节句子影子信号方法来源速度方形车站故事符号表格温度理论三角山谷变量向量村庄电压体积水流天气窗户冬天"
)


def author_text(schema: dict[str, Any] | None, key: str, *, chinese: bool) -> str:
    """Return the author's reply to the request that `key` identifies.

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
        return _nearly(author_sentence(key, chinese=chinese), near, chinese=chinese)
    value = _value(schema, key, near, chinese=chinese, lettered=lettered)
    text = json.dumps(value, ensure_ascii=False)
    return text[: len(text) // 2] if kind % BROKEN == 2 else text


def author_sentence(key: str, *, chinese: bool) -> str:
    """Return a text that is nearly unique for its key. It need not make sense."""
    number = draw(1000, key, "number")
    picks = [draw(1 << 30, key, str(place)) for place in range(LENGTH)]
    if chinese:
        words = [AUTHOR_CHINESE[2 * (pick % (len(AUTHOR_CHINESE) // 2)) :][:2] for pick in picks]
        return f"{''.join(words[:7])}，{''.join(words[7:])}，共有{number}个吗？"
    words = [AUTHOR_ENGLISH[pick % len(AUTHOR_ENGLISH)] for pick in picks]
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
            lines = [_nearly(author_sentence(key, chinese=chinese), near, chinese=chinese)]
            if lettered:
                lines += [f"{letter}. {author_sentence(f'{key}/{letter}', chinese=chinese)}" for letter in LETTERS]
            return "\n".join(lines)[: schema.get("maxLength")]
        case "boolean":
            return draw(NO, key, "yes") != 0
    return value_of(schema, key, "mixed", chinese=chinese)


def _nearly(text: str, near: bool, *, chinese: bool) -> str:
    return f"{'请问' if chinese else 'Tell me:'} {text}" if near else text


INVENTED = "overall impression"


def careless_text(schema: dict[str, Any], key: str, *, chinese: bool) -> str:
    """Return a careless reply: sometimes fenced, keys renamed, scores as text, a value null, missing or invented.

    >>> careless_text({"type": "object", "properties": {"Depth": {"type": "integer"}}}, "k", chinese=False)
    '{"Depth": "7 分"}'
    """
    schema = schema or ANY_JSON
    value = _spoil(value_of(schema, key, "mixed", chinese=chinese), schema, key)
    text = json.dumps(value, ensure_ascii=False)
    match draw(4, key, "frame"):
        case 0:
            return f"```json\n{text}\n```"
        case 1:
            return f"{'评价如下：' if chinese else 'Here is my assessment:'}\n{text}"
        case _:
            return text


def _spoil(value: Any, schema: dict[str, Any], key: str) -> Any:
    if not isinstance(value, dict):
        return value
    properties: dict[str, Any] = schema.get("properties", {})
    spoilt: dict[str, Any] = {}
    for name, part in value.items():
        at = f"{key}/{name}"
        match draw(12, at, "loss"):
            case 0:
                spoilt[_renamed(name, at)] = None
            case 1:
                continue
            case _:
                spoilt[_renamed(name, at)] = _loosened(part, properties[name], at)
    if draw(4, key, "invent") == 0 and spoilt:
        spoilt[INVENTED] = next(iter(spoilt.values()))
    return spoilt


def _renamed(name: str, key: str) -> str:
    return (name, name.lower(), name.replace("_", " "))[draw(3, key, "name")]


def _loosened(value: Any, schema: dict[str, Any], key: str) -> Any:
    """Turn numbers into text, also inside a nested record."""
    match value:
        case bool():
            return value
        case int():
            high = schema.get("maximum", value)
            return (value, value, f"{value}/{high}", f"{value} 分")[draw(4, key, "number")]
        case dict():
            parts: dict[str, Any] = schema.get("properties", {})
            return {name: _loosened(part, parts.get(name, {}), key) for name, part in value.items()}
        case _:
            return value


SPREAD = 0.25
"""The largest distance between the chance of a question and the ability."""
UNEVEN = 0.5
"""The largest distance between the rate of a lesson and the student's, as a share of the rate."""
ABILITY, RATE = 40, 30
"""The default ability and rate in per cent."""
OPTION = re.compile(r"^([A-H])[.、．:：)）][^\S\n]*+(\S.*)$", re.MULTILINE)
SUM = re.compile(r"(?<!\d)(\d{1,18})\s*([-+×*−])\s*(\d{1,18})(?!\d)")
WORDINGS = (
    "答案是{letter}。",
    "故選{letter}。",
    "\\boxed{{{letter}}}",
    "{letter}. {text}",
    "正确答案：**（{wide}）**",
    "{text}",
)
STUDENT_ENGLISH = (
    "The answer is {letter}.",
    "{letter}",
    "\\boxed{{{letter}}}",
    "{letter}. {text}",
    "Answer: **({wide})**",
    "{text}",
)


@dataclass(frozen=True)
class Student:
    """A student, by name. `ability` and `rate` are shares."""

    name: str
    ability: float
    rate: float

    def text(self, messages: Sequence[Message], schema: dict[str, Any] | None, number: int, *, chinese: bool) -> str:
        """Return the student's reply to a request; `number` distinguishes samples of the same request.

        >>> ask = Message("user", "3 + 4 = ?\\nA. 6\\nB. 7\\nC. 8\\nD. 9")
        >>> [Student("s", 1.0, 0.0).text([ask], None, number, chinese=False) for number in range(3)]
        ['The answer is B.', 'B. 7', 'Answer: **(Ｂ)**']
        """
        found = OPTION.findall(messages[-1].content) if messages else []
        options = {letter: said.rstrip() for letter, said in found}
        if len(options) < 2:
            key = json.dumps([self.name, [message.content for message in messages], number], ensure_ascii=False)
            if schema is None:
                return sentences(1, key, chinese=chinese)
            return json.dumps(value_of(schema, key, "kind", chinese=chinese), ensure_ascii=False)
        letter = self._letter(messages, options, number)
        if schema is not None:
            return json.dumps({"value": letter})
        wordings = WORDINGS if chinese else STUDENT_ENGLISH
        wording = wordings[draw(len(wordings), self.name, messages[-1].content, str(number), "wording")]
        return wording.format(letter=letter, text=options[letter], wide=chr(ord(letter) - ord("A") + ord("Ａ")))

    def _letter(self, messages: Sequence[Message], options: dict[str, str], number: int) -> str:
        asked = messages[-1].content
        right = right_option(asked, options)
        lesson = "\n".join(message.content for message in messages[:-1] if message.role != "system")
        luck = share(self.name, asked, lesson, str(number))
        if right is not None and luck < self.chance(
            share(self.name, asked), share(self.name, lesson) if lesson else None
        ):
            return right
        wrong = [letter for letter in options if letter != right]
        return wrong[draw(len(wrong), self.name, asked, lesson, str(number), "wrong")]

    def chance(self, question: float, lesson: float | None) -> float:
        """Return the chance of the right answer; `question` and `lesson`, from 0 to 1, are their positions in the
        spread.

        >>> student = Student("s", 0.5, 0.4)
        >>> student.chance(0.5, None), student.chance(0.5, 0.5), student.chance(1.0, 0.0)
        (0.5, 0.7, 0.8)
        """
        spread = min(SPREAD, self.ability, 1 - self.ability)
        before = self.ability + spread * (2 * question - 1)
        if lesson is None:
            return before
        return before + self.rate * (1 + UNEVEN * (2 * lesson - 1)) * (1 - before)


def student_named(which: str) -> Student | None:
    """Return the student of that name, such as `student`, `student-40-30` or `student-40-30:ada`. Ability and rate are
    in per cent, at most 100 and 66. None for any other name.

    >>> student_named("student-50-20:ada")
    Student(name='mock/student-50-20:ada', ability=0.5, rate=0.2)
    """
    match = re.fullmatch(r"student(?:-(\d{1,3})-(\d{1,3}))?(?::.*)?", which)
    if match is None:
        return None
    ability, rate = (
        int(group) if group else usual for group, usual in zip(match.groups(), (ABILITY, RATE), strict=True)
    )
    if ability > 100 or rate * (1 + UNEVEN) > 100:
        return None
    return Student(f"mock/{which}", ability / 100, rate / 100)


def right_option(asked: str, options: dict[str, str]) -> str | None:
    """Return the letter of the option that equals the first sum of a question; None if there is none.

    >>> right_option("8 − 3 = ?", {"A": "5", "B": "11"})
    'A'
    """
    match = SUM.search(asked)
    if match is None:
        return None
    one, other = int(match[1]), int(match[3])
    result = {"+": one + other, "-": one - other, "−": one - other}.get(match[2], one * other)
    return next((letter for letter, text in options.items() if text.strip() == str(result)), None)


def share(*parts: str) -> float:
    """Return a number from 0 to 1, evenly distributed, that depends only on the parts."""
    name = json.dumps(parts, ensure_ascii=False).encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()) / 2**64


FEWEST, MORE = 2, 3
"""The smallest number of turns before the last one, and the number of different counts."""
POINT = re.compile(r"^- (.+)$", re.MULTILINE)
CAPITALS = re.compile(r"(?<![A-Za-z])[A-Z]{2,}(?: [A-Z]{2,})+(?![A-Za-z])")


def choose_points(messages: Sequence[Message], value: Any, key: str) -> Any:
    """Return a value in which every list of texts consists of points that the last message lists, if it lists any.

    >>> choose_points([Message("user", "Which?\\n- sets\\n- sums")], {"value": ["That is so."]}, "a")["value"]
    ['sets']
    """
    points = POINT.findall(messages[-1].content) if messages else []
    if not points or not isinstance(value, dict):
        return value
    return {name: _points(points, f"{key}/{name}") if _is_texts(part) else part for name, part in value.items()}


def _points(points: list[str], key: str) -> list[str]:
    first = draw(len(points), key)
    second = draw(len(points), key, "second")
    return sorted({points[first], points[second]})


def _is_texts(part: Any) -> bool:
    return isinstance(part, list) and all(isinstance(each, str) for each in part)


def teacher_text(messages: Sequence[Message], key: str, *, chinese: bool) -> str:
    """Return the teacher's turn in a dialogue; `key` identifies the request.

    >>> told = Message("system", "Teach, and say LESSON OVER at the end.")
    >>> said = [Message("user", "Please begin."), Message("assistant", "Look."), Message("user", "I see.")]
    >>> "LESSON OVER" in teacher_text([told, *said[:1]], "a", chinese=False)
    False
    >>> teacher_text([told, *(6 * said)], "a", chinese=False).endswith("**LESSON OVER**")
    True
    """
    said = sum(message.role == "assistant" for message in messages)
    text = sentences(2, f"{key} {said}", chinese=chinese)
    system = next((message.content for message in messages if message.role == "system"), "")
    match = CAPITALS.search(system)
    first = next((message.content for message in messages if message.role == "assistant"), "")
    if match is None or said < FEWEST + draw(MORE, system, first):
        return text
    return f"{text}\n**{match[0]}**"


def tool_calls_text(tools: Sequence[str], key: str, *, careless: bool = False, chinese: bool = False) -> str:
    """Return the reply of a mock that is offered tools: a call of one of them, drawn by `key`, with an argument for
    each required parameter. A careless mock in one case of four calls none, calls twice, calls an unknown tool, or
    gives arguments that are not JSON or lack one.

    >>> tool = '{"name": "ping", "parameters": {"properties": {"n": {"type": "boolean"}}, "required": ["n"]}}'
    >>> tool_calls_text((tool,), "k")
    '{"text": "", "calls": [{"name": "ping", "arguments": {"n": true}}]}'
    """
    told = [json.loads(tool) for tool in tools]
    call = _call(told[draw(len(told), key, "tool")], key, chinese=chinese)
    if not careless:
        return write_calls("", [call])
    match draw(8, key, "call"):
        case 0 | 1:
            return write_calls(sentences(1, key, chinese=chinese), [])
        case 2:
            return write_calls("", [call, call])
        case 3:
            return write_calls("", [ToolCall(f"{call.name}_2", call.arguments)])
        case 4:
            return write_calls("", [ToolCall(call.name, json.dumps(call.arguments)[:-1])])
        case 5:
            return write_calls("", [ToolCall(call.name, dict(list(call.arguments.items())[1:]))])
    return write_calls("", [call])


def _call(tool: dict[str, Any], key: str, *, chinese: bool) -> ToolCall:
    parameters = tool.get("parameters") or {}
    properties, required = parameters.get("properties") or {}, parameters.get("required") or ()
    arguments = {
        name: value_of(part, f"{key}/{name}", "kind", chinese=chinese)
        for name, part in properties.items()
        if name in required
    }
    return ToolCall(str(tool["name"]), arguments)


SHIFTS = {"fair": 0, "severe": -1, "lenient": 1, "noisy": 0}
"""The bias of each character in fifths of a scale; `noisy` is off by up to one in either direction, by its name and the
request."""


def judged_value(character: str, schema: dict[str, Any], shared: str, own: str, *, chinese: bool = False) -> Any:
    """Return a value that fits the schema. Values on a scale depend on `shared`, the key of the request, and the bias
    of the character; all others on `own`, the key of the request and the judge.

    >>> scale = {"type": "integer", "minimum": 1, "maximum": 10}
    >>> fair, severe, lenient = (judged_value(each, scale, "k", "mine") for each in ("fair", "severe", "lenient"))
    >>> fair - severe, lenient - fair
    (2, 2)
    """
    if "enum" not in schema:
        options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
        if options:
            return judged_value(character, options[0], shared, own, chinese=chinese)
        if schema.get("type") == "object":
            parts: dict[str, Any] = schema.get("properties", {})
            return {
                name: judged_value(character, part, f"{shared}/{name}", f"{own}/{name}", chinese=chinese)
                for name, part in parts.items()
            }
        if schema.get("type") == "integer" and {"minimum", "maximum"} <= schema.keys():
            return _on_scale(character, int(schema["minimum"]), int(schema["maximum"]), shared, own)
    return value_of(schema, own, "kind", chinese=chinese)


def _on_scale(character: str, low: int, high: int, shared: str, own: str) -> int:
    """Return a value on a scale. The fair value is at least a fifth of the scale away from either end, the largest
    bias."""
    reach = math.ceil((high - low) / 5)
    room = max(high - low + 1 - 2 * reach, 1)
    fair = min(low + reach + draw(room, shared), high)
    off = draw(2 * reach + 1, own) - reach if character == "noisy" else SHIFTS[character] * reach
    return max(low, min(high, fair + off))


SLOW_S = 0.05
SORTED = json.JSONEncoder(sort_keys=True)
CHARACTERS = (
    "careful",
    "careless",
    "author",
    "teacher",
    "student",
    "student-A-R",
    *SHIFTS,
    "refuses",
    "broken-json",
    "slow",
    "fails-N",
    "wrong-key",
    "down",
    "replies:FILE",
)
UNWILLING = ("refuses", "broken-json", "slow", "fails", "wrong-key", "down")
"""The characters that do not answer at once, or do not answer the question."""
LIKELY = 0.25
"""The share of the options that a mock would write itself."""
REFUSALS = ("I'm sorry, but I can't help with that.", "I apologize, but I am unable to assist with this request.")
CHINESE_REFUSALS = ("抱歉，我无法回答这个问题。", "对不起，我不能协助完成这个请求。")
BROKEN_JSON = (
    '{"reason": "a clear answer that',
    "My marks: { [ }",
    "```json\n{\n```",
    "The answer deserves {high marks",
)
WORD = re.compile(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+")
CHINESE_CHARACTER = re.compile(r"[\u3400-\u9fff]")


@dataclass
class MockModel(Model):
    """A mock model. `failures` is how many attempts of a request fail before one is answered."""

    name: str
    character: str
    failures: int
    sleep: Callable[[float], Awaitable[None]]
    _attempts: dict[str, int] = field(default_factory=dict)
    structured = True
    price = FREE

    async def ask(self, request: Request) -> Reply:
        """Return the character's reply to the request. Raises `ModelError` if the character fails."""
        stated, request = request.stated, request.without_stated
        key = _key(self.name, request)
        chinese = _is_chinese(request)
        match self.character:
            case writer if request.options and writer not in UNWILLING:
                text = likelihoods(request, key)
            case "careful" | "slow" if _is_answered(request):
                text = sentences(3, key, chinese=chinese)
            case "careless" if request.tools:
                text = tool_calls_text(request.tools, key, careless=True, chinese=chinese)
            case writer if request.tools and writer not in UNWILLING:
                text = tool_calls_text(request.tools, key, chinese=chinese)
            case "careful":
                text = _careful_text(request, key, chinese=chinese)
            case "slow":
                await self.sleep(SLOW_S)
                text = _careful_text(request, key, chinese=chinese)
            case "fails":
                self._fail_first(key)
                text = _careful_text(request, key, chinese=chinese)
            case judge if judge in SHIFTS and request.schema is not None:
                shared = _key("", request)
                text = json.dumps(judged_value(judge, request.schema, shared, key, chinese=chinese), ensure_ascii=False)
            case "fair" | "severe" | "lenient" | "noisy":
                text = _careful_text(request, key, chinese=chinese)
            case "careless" if request.schema is not None:
                text = careless_text(request.schema, key, chinese=chinese)
            case "careless":
                text = careless_answer(_last(request), key, plain=request.plain, chinese=chinese)
            case "author":
                text = author_text(request.schema, key, chinese=chinese)
            case "teacher" if request.schema is None:
                text = teacher_text(request.messages, key, chinese=chinese)
            case "teacher":
                value = value_of(request.schema or {}, key, "kind", chinese=chinese)
                text = json.dumps(choose_points(request.messages, value, key), ensure_ascii=False)
            case "student":
                return self._student(request, stated, chinese=chinese)
            case "refuses":
                text = _pick(CHINESE_REFUSALS if chinese else REFUSALS, key)
            case "broken-json":
                text = _pick(BROKEN_JSON, key)
            case "wrong-key":
                raise ModelError("R0102", f"the key for `{self.name}` was refused", "use another mock", fatal=True)
            case _:
                raise ModelError("R0101", f"`{self.name}` cannot be reached", "use another mock", retryable=True)
        return self._reply(request, in_stated_form(text, stated, key, chinese=chinese), key)

    def _reply(self, request: Request, text: str, key: str) -> Reply:
        """Return the replies to a request. Equal requests have equal replies."""
        tokens_in = sum(_sent_tokens(request, message.content) for message in request.messages)
        tokens_out, told = word_tokens(text), token_probabilities(request, text, key)
        other = Reply(text, self.name, "stop", 0, tokens_out, 0.0, logprobs=told)
        replies = (other,) * (request.samples - 1)
        return Reply(text, self.name, "stop", tokens_in, tokens_out, 0.0, logprobs=told, further_choices=replies)

    def _student(self, request: Request, stated: StatedReply | None, *, chinese: bool) -> Reply:
        """Return the replies of a student; each sample has its own."""
        student = student_named(self.name.removeprefix("mock/"))
        assert student is not None
        tokens_in = sum(_sent_tokens(request, message.content) for message in request.messages)
        replies: list[Reply] = []
        for number in range(request.number, request.number + request.samples):
            text = student.text(request.messages, request.schema, number, chinese=chinese)
            text = in_stated_form(text, stated, f"{self.name} {number}", chinese=chinese)
            told = token_probabilities(request, text, f"{self.name} {number} {text}")
            tokens = 0 if replies else tokens_in, word_tokens(text)
            replies.append(Reply(text, self.name, "stop", *tokens, 0.0, logprobs=told))
        return replace(replies[0], further_choices=tuple(replies[1:]))

    def _fail_first(self, key: str) -> None:
        asked = self._attempts[key] = self._attempts.get(key, 0) + 1
        if asked <= self.failures:
            raise ModelError("R0111", f"`{self.name}` answered with status 503", "try again", retryable=True)


def in_stated_form(text: str, stated: StatedReply | None, key: str, *, chinese: bool) -> str:
    """Return a reply in JSON in the form that its prompt states, after sentences that depend on `key`."""
    return text if stated is None else stated.from_json(text, sentences(2, key, chinese=chinese))


def open_mock(which: str, sleep: Callable[[float], Awaitable[None]]) -> MockModel:
    """Return the mock of that character, such as `careful`, `careful:ada` or `fails-2`. Raises `ModelError` for any
    other."""
    character, _, _ = which.partition(":")
    failures = re.fullmatch(r"fails-(\d{1,4})", character)
    if failures:
        return MockModel(f"mock/{which}", "fails", int(failures[1]), sleep)
    if character == "fails-N":
        hint = "write a number for N, such as `mock/fails-2`"
        raise ModelError("R0103", f"there is no model `mock/{which}`", hint, fatal=True)
    if student_named(which) is not None:
        return MockModel(f"mock/{which}", "student", 0, sleep)
    if character.startswith("student-"):
        hint = "write an ability and a rate in per cent, such as `mock/student-40-30`; the rate is 66 at most"
        raise ModelError("R0103", f"there is no model `mock/{which}`", hint, fatal=True)
    if character not in CHARACTERS:
        close = difflib.get_close_matches(character, CHARACTERS, n=1)
        hint = f"did you mean `mock/{close[0]}`?" if close else f"the mocks are {', '.join(CHARACTERS)}"
        raise ModelError("R0103", f"there is no model `mock/{which}`", hint, fatal=True)
    return MockModel(f"mock/{which}", character, 0, sleep)


def likelihoods(request: Request, key: str) -> str:
    """Return likelihoods of the options of a request that depend on `key`. A word is a token, and each has a
    probability from 1 in 20 to 1."""
    option_likelihoods = []
    for option in request.options:
        tokens = max(word_tokens(option), 1)
        share = (1 + draw(10**6, key, option)) / 10**6
        option_likelihoods.append(OptionLikelihood(option, -3.0 * share * tokens, tokens, share < LIKELY))
    return write_likelihoods(option_likelihoods)


def token_probabilities(request: Request, text: str, key: str) -> str | None:
    """Return token probabilities of a reply that depend on `key`, if requested. A word or a mark is a token. The
    alternatives of a letter, a number or a truth value are of the same kind."""
    most = request.settings.top_logprobs
    if most is None:
        return None
    content = []
    for place, token in enumerate(TOKEN.findall(text)):
        share = 0.4 + 0.6 * (1 + draw(10**6, key, str(place))) / 10**6
        rest, top = 1.0 - share, [{"token": token, "logprob": math.log(share)}]
        for other in _others(token)[: max(most - 1, 0)]:
            rest /= 2
            top += [{"token": other, "logprob": math.log(rest)}] if rest > 0 else []
        content.append({"token": token, "logprob": math.log(share), "top_logprobs": top[:most]})
    return write_token_probabilities(content) if content else None


TOKEN = re.compile(r"\s*(?:[^\W\d_]+|\d+|.)", re.DOTALL)
KINDS = ("ABCDEFGHIJ", "0123456789")


def _others(token: str) -> list[str]:
    """Return the alternatives of a token."""
    bare = token.strip()
    blank = token[: len(token) - len(bare)] if token.endswith(bare) else ""
    if bare in ("true", "false"):
        return [blank + ("false" if bare == "true" else "true")]
    kind = next((kind for kind in KINDS if len(bare) == 1 and bare in kind), "")
    return [blank + each for each in sorted(kind, key=lambda each: (abs(ord(each) - ord(bare)), each)) if each != bare]


def _key(name: str, request: Request) -> str:
    asked: list[Any] = [name, request.settings.seed, request.schema]
    asked += [list(each) for each in (request.options, request.tools) if each]
    asked += [[message.role, message.content] for message in request.messages]
    return SORTED.encode(asked)


def _careful_text(request: Request, key: str, *, chinese: bool) -> str:
    if request.options:
        return likelihoods(request, key)
    if request.tools:
        return tool_calls_text(request.tools, key, chinese=chinese)
    if request.schema is None:
        return _free_text(request, key, chinese=chinese)
    if not request.schema and (stated := json_as_stated(_told(request), key, chinese=chinese)) is not None:
        return stated
    return json.dumps(value_of(request.schema, key, "kind", chinese=chinese), ensure_ascii=False)


def _free_text(request: Request, key: str, *, chinese: bool) -> str:
    """Return a careful free reply in the form that the prompt states or its shots show."""
    told, asked, text = _told(request), _last(request), sentences(3, key, chinese=chinese)
    formed = answer_with_letter(text, asked, key, plain=request.plain, chinese=chinese)
    formed = answer_in_form(answer_in_brackets(formed, told, key), told, key)
    if formed != text:
        return formed
    if (stated := json_as_stated(told, key, chinese=chinese)) is not None:
        return stated
    shown = answer_as_shown(request.messages, key)
    if shown is None and (shots := shots_in_text(asked)):
        shown = answer_as_shown(shots, key)
    stated_text = shown if shown is not None else answer_as_stated(text, told, key)
    return stated_text if stated_text != text else answer_as_read(text, request.readable, key)


def _told(request: Request) -> str:
    """Return what a request says apart from the replies in it."""
    return "\n".join(message.content for message in request.messages if message.role != "assistant")


def _last(request: Request) -> str:
    """Return the last message."""
    return request.messages[-1].content if request.messages else ""


def _is_answered(request: Request) -> bool:
    """Return true if the results of the model's calls are in the request."""
    return any(message.role == RESULT for message in request.messages)


def _is_chinese(request: Request) -> bool:
    last = _last(request)
    if last.isascii():
        return False
    return 4 * len(CHINESE_CHARACTER.findall(last)) > len(WORD.findall(last))


def _sent_tokens(request: Request, text: str) -> int:
    """Return the tokens of a message: its words, and the tokens of its media, which are read as for sending. Raises
    `ModelError` R0127 if one cannot be read."""
    as_objects([Message("user", text)], request.contents)
    media = sum(
        math.ceil(media_tokens(request.model, medium, request.settings.image_detail).expected)
        for medium in media_in(text)
    )
    return word_tokens(without_media(text)) + media


def word_tokens(text: str) -> int:
    """Return the number of tokens that mocks count for a text: its words, or Chinese characters."""
    return len(text.split()) if text.isascii() else len(WORD.findall(text))


def _pick(texts: tuple[str, ...], key: str) -> str:
    return texts[draw(len(texts), key)]
