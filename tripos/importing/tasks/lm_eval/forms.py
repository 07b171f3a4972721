"""The form of a task of lm-eval: the keys that are read, each with what it may be. Other keys are passed over."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NotRequired

from pydantic import BeforeValidator, TypeAdapter
from typing_extensions import TypedDict

from tripos.importing.tasks.shapes import SEVERAL, kind, shaped


class PythonName(str):
    """The name of a Python function that a task refers to, `utils.process_docs`."""

    __slots__ = ()


NULL = type(None)
A_TEXT = kind("a text", str)
A_TEXT_OR_NULL = kind("a text", str, NULL)
A_NAME = kind("a text or a number", str, int, float)
A_SCALAR = kind("a text, a number, true or false", str, int, float, bool, NULL)
A_NUMBER = kind("a number", int, float, NULL)
A_WHOLE = kind("a whole number", int, NULL)
A_MAPPING = kind("a mapping", dict)
A_MAPPING_OR_NULL = kind("a mapping", dict, NULL)
A_LIST_OR_NULL = kind("a list", list, NULL)

OptionalText = Annotated[Any, A_TEXT_OR_NULL]
OptionalName = Annotated[Any, kind("a text or a number", str, int, float, NULL)]
Whole = Annotated[Any, A_WHOLE]
Number = Annotated[Any, A_NUMBER]
Texts = Annotated[list[Annotated[Any, A_NAME]], SEVERAL]


class FilterStep(TypedDict):
    """A function of a filter."""

    function: Annotated[Any, A_TEXT]
    regex_pattern: NotRequired[OptionalText]
    group_select: NotRequired[Whole]
    fallback: NotRequired[Annotated[Any, A_SCALAR]]
    mapping_dict: NotRequired[Annotated[dict[str, Annotated[Any, A_SCALAR]] | None, A_MAPPING_OR_NULL]]
    default_value: NotRequired[Annotated[Any, A_SCALAR]]
    regexes_to_ignore: NotRequired[Annotated[list[Annotated[Any, A_TEXT]] | None, A_LIST_OR_NULL]]


class Filter(TypedDict):
    """A filter of replies."""

    name: Annotated[Any, A_NAME]
    filter: Annotated[list[Annotated[FilterStep, A_MAPPING]], kind("a list", list)]


class Metric(TypedDict):
    """A metric of a task or of a group."""

    metric: Annotated[Any, A_TEXT]
    aggregation: NotRequired[OptionalText]
    regexes_to_ignore: NotRequired[Annotated[list[Annotated[Any, A_TEXT]] | None, A_LIST_OR_NULL]]
    filter_list: NotRequired[Texts]


class Settings(TypedDict, total=False):
    """How a reply is generated."""

    until: Annotated[list[Annotated[Any, A_SCALAR]], SEVERAL]
    max_gen_toks: Whole
    max_new_tokens: Whole
    max_tokens: Whole
    temperature: Number
    top_p: Number
    top_k: Number


class DataSettings(TypedDict, total=False):
    """How the rows are loaded."""

    data_files: Annotated[Any, kind("a text, a list or a mapping", str, list, dict, NULL)]


def _rows(value: Any) -> Any:
    if isinstance(value, list) and not all(isinstance(each, dict) for each in value):
        raise ValueError("its entries should be mappings")
    return value


class Shots(TypedDict, total=False):
    """How worked examples are drawn and written."""

    split: OptionalText
    sampler: OptionalText
    samples: Annotated[Any, BeforeValidator(_rows), kind("a list or a function", list, PythonName, NULL)]
    fewshot_delimiter: OptionalText
    target_delimiter: OptionalText
    gen_prefix: OptionalText


Field = Annotated[Any, kind("a text, a number, a list or a mapping", str, int, float, bool, list, dict, NULL)]


class TaskConfig(TypedDict, total=False):
    """A task or a group, with all that it includes."""

    group: Annotated[Any, A_NAME]
    task: Annotated[list[Annotated[Any, kind("a text or a mapping", str, int, float, dict)]], SEVERAL]
    tag: Texts
    task_alias: OptionalName
    group_alias: OptionalName
    aggregate_metric_list: Annotated[list[Annotated[Metric, A_MAPPING]], SEVERAL]
    dataset_path: OptionalText
    dataset_name: OptionalName
    dataset_kwargs: Annotated[DataSettings | None, A_MAPPING_OR_NULL]
    test_split: OptionalText
    validation_split: OptionalText
    training_split: OptionalText
    fewshot_split: OptionalText
    output_type: OptionalText
    doc_to_text: Field
    doc_to_choice: Field
    doc_to_target: Field
    description: OptionalText
    gen_prefix: OptionalText
    fewshot_delimiter: OptionalText
    target_delimiter: OptionalText
    num_fewshot: Whole
    fewshot_config: Annotated[Any, kind("a mapping or a function", dict, PythonName, NULL)]
    generation_kwargs: Annotated[Settings | None, A_MAPPING_OR_NULL]
    filter_list: Annotated[list[Annotated[Filter, A_MAPPING]] | None, A_LIST_OR_NULL]
    metric_list: Annotated[list[Annotated[Metric, A_MAPPING]] | None, A_LIST_OR_NULL]


class Drawn(TypedDict, total=False):
    """A task whose worked examples are drawn in a way of their own."""

    fewshot_config: Shots


FORM = TypeAdapter(TaskConfig)
DRAWN = TypeAdapter(Drawn)


def check_config(config: Mapping[str, Any], path: Path) -> None:
    """Raise `Failure` R0246 for a task of another form, or for a member of a group that is one."""
    shaped(FORM, config, path)
    if isinstance(config.get("fewshot_config"), dict):
        shaped(DRAWN, config, path)
    for each in config["task"] if isinstance(config.get("task"), list) else ():
        if isinstance(each, dict):
            check_config(each, path)
