"""What announces a final answer, and what only speaks of answers and results on the way to it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tests.lengths import spread
from tripos_compiler.library.functions.answers import final_number

ANNOUNCED = {
    "en": (
        *(
            "Answer: {}", "**Answer:** {}", "The answer is {}.", "The final answer is {}.", "Final answer: {}",
            "Result: {}",
        ),
        *(
            "So the answer to the question is {}.",
            "My answer would be {} apples.",
            "The final result is {}.",
            "Answer\n{}",
        ),
        *(
            "## Final Answer\n\n{}", "The answer is therefore {}.", "The correct answer is {}.", "Answer = {}",
            "Answer {}",
        ),
    ),
    "zh": (
        *(
            "答案：{}", "答案是{}。", "最终答案为 {}。", "所以答案应该是{}个。", "正确答案是{}。", "**答案**\n{}", "最终结果是{}。",
        ),
        "结果：{}",
    ),
    "de": (
        "Antwort: {}", "Die Antwort ist {}.", "Die Antwort lautet {}.", "Das endgültige Ergebnis ist {}.",
        "Ergebnis: {}",
    ),
    "fr": ("Réponse : {}", "La réponse est {}.", "Le résultat final est {}."),
    "es": ("Respuesta: {}", "La respuesta es {}.", "El resultado final es {}."),
    "pt": ("Resposta: {}", "A resposta é {}.", "O resultado final é {}."),
    "it": ("Risposta: {}", "La risposta è {}.", "Il risultato finale è {}."),
    "ru": ("Ответ: {}", "Итоговый результат: {}"),
    "ja": ("答え：{}", "答えは{}です。"),
}  # fmt: skip
"""Texts that say the answer, whatever number comes after it."""

ON_THE_WAY = {
    "en": (
        *("As a result, {} are left.", "As a result of this, {} remain.", "To answer this, {} steps are needed."),
        *(
            "The result of step 1 is {}.",
            "The intermediate result is {}.",
            "The first answer is {}.",
            "Results: {} of them.",
        ),
        *("This results in {} apples.", "To answer the question: {} is needed.", "This is a partial result: {}."),
        *(
            "We answer in {} steps.",
            "The answer to part 1 is {}.",
            "We can answer with {} words.",
            "So the result is {}.",
        ),
        *("The result from before is {}.", "Each correct answer gives {} points.", "Her previous answer was {}."),
    ),
    "zh": (
        *(
            "结果他买了{}个。", "第一步的结果是{}。", "回答这个问题需要{}步。", "中间结果是{}。", "步骤1的结果为{}。", "计算结果是{}。",
        ),
        *("上一步的结果是{}。", "第2问的答案是{}。", "结果表明有{}人。"),
    ),
    "de": (
        "Das Ergebnis von Schritt 1 ist {}.",
        "Als Ergebnis bleiben {} übrig.",
        "Um zu antworten, braucht es {} Schritte.",
    ),
    "fr": ("Le résultat de l'étape 1 est {}.", "Pour répondre, il faut {} étapes."),
    "es": ("El resultado del paso 1 es {}.", "Como resultado quedan {}.", "Para responder hacen falta {} pasos."),
    "it": ("Il risultato del passo 1 è {}.", "Come risultato ne restano {}."),
    "pt": ("O resultado do passo 1 é {}.", "Como resultado restam {}."),
    "ru": ("Результат шага 1 равен {}.", "В результате осталось {}."),
}  # fmt: skip
"""Texts that say a number on the way to the one that comes last."""

NUMBERS = st.integers(2, 999)


def forms(texts: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(language, form) for language, each in texts.items() for form in each]


@pytest.mark.parametrize(("language", "form"), spread(forms(ANNOUNCED), 10))
@given(answer=NUMBERS, before=NUMBERS, after=NUMBERS)
def test_an_announced_answer_is_read_whatever_stands_around(
    language: str, form: str, answer: int, before: int, after: int
) -> None:
    text = f"2 * {before} = {before * 2}.\n{form.format(answer)}\n\n({after} * 3 = {after * 3})"
    assert final_number(text, language) == answer


@pytest.mark.parametrize(("language", "form"), spread(forms(ON_THE_WAY), 8))
@given(answer=NUMBERS, passed=NUMBERS, apart=st.sampled_from([" ", "\n", "\n\n"]))
def test_what_is_said_on_the_way_is_not_the_answer(
    language: str, form: str, answer: int, passed: int, apart: str
) -> None:
    assert final_number(f"{form.format(passed)}{apart}3 + 4 = {answer}", language) == answer


@pytest.mark.parametrize(("language", "form"), spread(forms(ON_THE_WAY), 8))
@given(answer=NUMBERS, passed=NUMBERS)
def test_what_is_said_on_the_way_does_not_hide_the_answer(language: str, form: str, answer: int, passed: int) -> None:
    label = ANNOUNCED[language][0].format(answer)
    assert final_number(f"{form.format(passed)}\n{label}\n{form.format(passed)}", language) == answer


def test_a_result_that_is_said_last_is_the_answer() -> None:
    assert final_number("3 + 4 = 7, so the result is 7 of the 9 apples") == 7
