def topic_of(text: str) -> str:
    return text[-3:]
