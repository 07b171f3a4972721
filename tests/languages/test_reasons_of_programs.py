"""Reasons why a program that scores does not start, in Chinese."""

from __future__ import annotations

import pytest

from tripos_compiler.diagnostics.i18n import localized


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("bubblewrap is not installed, and code that models write runs in its sandbox", "没有安装 bubblewrap，而模型写的代码在它的沙箱中执行"),
        ("no greeting: it ended with exit code 3", "没有问候行：它以退出码 3 结束"),
        ("no answer within 30 seconds", "30 秒内没有回答"),
    ],
)  # fmt: skip
def test_why_a_program_does_not_start_is_told_in_chinese(reason: str, told: str) -> None:
    message = f"the program `python-tests 2` does not start: {reason}"
    assert localized(message, "zh") == f"程序 `python-tests 2` 无法启动：{told}"
