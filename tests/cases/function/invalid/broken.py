def d(text: str) -> bool:
    return (text
