def own(said: str, answer: str) -> bool:
    return answer == said
