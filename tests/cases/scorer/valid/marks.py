def close(truth: float, response: str, tolerance: float = 0.1) -> float:
    return 1.0 - abs(float(response) - truth)


def graded(response: str, mark: int, level: str, tags: list[str]) -> int:
    return mark


def said(response: str | None) -> bool:
    return bool(response)
