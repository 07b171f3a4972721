def known(text: str) -> bool:
    return len(text) > 3


def words_of(text: str) -> list[str]:
    return text.split()[:3]
