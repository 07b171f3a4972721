import functools


@functools.lru_cache
def shout(text: str, times: int = 1) -> str:
    return text.upper() + "!" * times
