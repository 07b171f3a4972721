"""The family of a model, as far as its name says it."""

from __future__ import annotations

from tests.each import each
from tripos_compiler.language.aggregates import families_in_name


@each(
    "model, expected",
    [
        ("openai/gpt-4o-mini", {"gpt"}),
        ("azure/o3-mini", {"gpt"}),
        ("anthropic/claude-3-5-haiku-latest", {"claude"}),
        ("bedrock/us.anthropic.claude-3-7-sonnet", {"claude"}),
        ("gemini/gemini-2.5-flash", {"gemini"}),
        ("together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo", {"llama"}),
        ("openrouter/deepseek/deepseek-r1-distill-qwen-32b", {"deepseek", "qwen"}),
        ("groq/qwen-qwq-32b", {"qwen"}),
        ("dashscope/Qwen2.5-72B-Instruct", {"qwen"}),
        ("mistral/codestral-latest", {"mistral"}),
        ("zai/glm-4.6", {"glm"}),
        ("xai/grok-4", {"grok"}),
        ("local/smollm2-135m", {"smollm"}),
        ("mock/careful", set()),
        ("openai/my-finetune", set()),
        ("openai/photo3-model", set()),
    ],
)
def test_a_name_shows_its_family(model: str, expected: set[str]) -> None:
    assert families_in_name(model) == expected
