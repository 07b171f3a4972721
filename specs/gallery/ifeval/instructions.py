"""The 25 instructions of IFEval that a program can check. What counts sentences, words in capitals and languages needs
`pip install nltk langdetect`, and the English model of nltk: `python -m nltk.downloader punkt_tab`."""

import json
import re
from collections.abc import Callable

ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}


def followed(instruction: str, arguments: str, reply: str) -> bool:
    """True if a reply follows an instruction, whose arguments are JSON. An empty reply follows none."""
    given = {name: value for name, value in json.loads(arguments).items() if value}
    return bool(reply.strip()) and CHECKS[instruction](reply, **given)


def holds(count: int, relation: str, limit: int) -> bool:
    return count < limit if relation == "less than" else count >= limit


def found(pattern: str, text: str) -> int:
    return len(re.findall(pattern, text, re.IGNORECASE))


def is_in(reply: str, language: str) -> bool:
    """True if the language of a reply is this one, or cannot be told."""
    from langdetect import DetectorFactory, LangDetectException, detect

    DetectorFactory.seed = 0
    try:
        return detect(reply) == language
    except LangDetectException:
        return True


def has_sentences(reply: str, num_sentences: int, relation: str) -> bool:
    from nltk import sent_tokenize

    return holds(len(sent_tokenize(reply)), relation, num_sentences)


def has_capitals(reply: str, capital_frequency: int, capital_relation: str) -> bool:
    from nltk import word_tokenize

    return holds(sum(word.isupper() for word in word_tokenize(reply)), capital_relation, capital_frequency)


def has_highlights(reply: str, num_highlights: int) -> bool:
    """Stars around some text; two stars count as one highlight more than one does."""
    single = [each.strip("*") for each in re.findall(r"\*[^\n*]*\*", reply)]
    double = [each[2:-2] for each in re.findall(r"\*\*[^\n*]*\*\*", reply)]
    return sum(bool(each.strip()) for each in single + double) >= num_highlights


def has_paragraphs(reply: str, num_paragraphs: int) -> bool:
    """So many paragraphs between `***`; none in the middle is empty."""
    filled = [bool(each.strip()) for each in re.split(r"\s?\*\*\*\s?", reply)]
    return all(filled[1:-1]) and sum(filled) == num_paragraphs


def has_first_word(reply: str, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    """So many paragraphs between two line breaks, one of which begins with a word, as far as a mark."""
    paragraphs = reply.split("\n\n")
    count = sum(bool(each.strip()) for each in paragraphs)
    if nth_paragraph > count or not paragraphs[nth_paragraph - 1].strip():
        return False
    word = paragraphs[nth_paragraph - 1].split()[0].lstrip("'").lstrip('"')
    return count == num_paragraphs and re.split(r"[.,?!'\"]", word)[0].lower() == first_word.lower()


def is_json(reply: str) -> bool:
    text = reply.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip())
    except ValueError:
        return False
    return True


def has_postscript(reply: str, postscript_marker: str) -> bool:
    marker = postscript_marker.strip()
    return bool(re.search(POSTSCRIPTS.get(marker, marker.lower()), reply.lower()))


def are_two(reply: str) -> bool:
    """Two responses that differ, with six stars between them."""
    parts = [each.strip() for each in reply.split("******")]
    filled = [each for each in parts if each]
    return all(parts[1:-1]) and len(filled) == 2 and filled[0] != filled[1]


def is_quoted(reply: str) -> bool:
    text = reply.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


def has_bullets(reply: str, num_bullets: int) -> bool:
    stars = re.findall(r"^\s*\*[^*].*$", reply, re.MULTILINE)
    return len(stars) + len(re.findall(r"^\s*-.*$", reply, re.MULTILINE)) == num_bullets


def has_sections(reply: str, section_spliter: str, num_sections: int) -> bool:
    return len(re.findall(rf"\s?{section_spliter.strip()}\s?\d+\s?", reply)) >= num_sections


def has_title(reply: str) -> bool:
    return any(each.lstrip("<").rstrip(">").strip() for each in re.findall(r"<<[^\n]+>>", reply))


CHECKS: dict[str, Callable[..., bool]] = {
    "keywords:existence": lambda reply, keywords: all(found(each, reply) for each in keywords),
    "keywords:frequency": lambda reply, keyword, frequency, relation: holds(
        found(keyword.strip(), reply), relation, frequency
    ),
    "keywords:forbidden_words": lambda reply, forbidden_words: (
        not any(found(rf"\b{each}\b", reply) for each in forbidden_words)
    ),
    "keywords:letter_frequency": lambda reply, letter, let_frequency, let_relation: holds(
        reply.lower().count(letter.strip().lower()), let_relation, let_frequency
    ),
    "language:response_language": is_in,
    "length_constraints:number_sentences": has_sentences,
    "length_constraints:number_paragraphs": has_paragraphs,
    "length_constraints:number_words": lambda reply, num_words, relation: holds(
        len(re.findall(r"\w+", reply)), relation, num_words
    ),
    "length_constraints:nth_paragraph_first_word": has_first_word,
    "detectable_content:number_placeholders": lambda reply, num_placeholders: (
        len(re.findall(r"\[.*?\]", reply)) >= num_placeholders
    ),
    "detectable_content:postscript": has_postscript,
    "detectable_format:number_bullet_lists": has_bullets,
    "detectable_format:constrained_response": lambda reply: any(each in reply for each in ANSWERS),
    "detectable_format:number_highlighted_sections": has_highlights,
    "detectable_format:multiple_sections": has_sections,
    "detectable_format:json_format": is_json,
    "detectable_format:title": has_title,
    "combination:two_responses": are_two,
    "combination:repeat_prompt": lambda reply, prompt_to_repeat: (
        reply.strip().lower().startswith(prompt_to_repeat.strip().lower())
    ),
    "startend:end_checker": lambda reply, end_phrase: (
        reply.strip().strip('"').lower().endswith(end_phrase.strip().lower())
    ),
    "startend:quotation": is_quoted,
    "change_case:capital_word_frequency": has_capitals,
    "change_case:english_capital": lambda reply: reply.isupper() and is_in(reply, "en"),
    "change_case:english_lowercase": lambda reply: reply.islower() and is_in(reply, "en"),
    "punctuation:no_comma": lambda reply: "," not in reply,
}
