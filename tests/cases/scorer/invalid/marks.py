def close(response: str, truth: float) -> float:
    return 1.0 - abs(float(response) - truth)


def said(response: str) -> bool:
    return bool(response)


def untyped(response) -> bool:
    return bool(response)


def maybe(response: str) -> bool | None:
    return bool(response) or None
