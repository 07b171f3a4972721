"""Whether an address answers, and which models a server of OpenAI's kind lists. A key goes to its own address only."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

LONGEST_S = 10.0
MOST_BYTES = 4 * 2**20
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Answer:
    """What came back: `status` of HTTP, the names that were listed, or an `error` in words."""

    status: int = 0
    models: tuple[str, ...] = ()
    error: str = ""


async def look_at(address: str, key: str | None, timeout_s: float = LONGEST_S) -> Answer:
    """Asks an address for its list of models, with the key where one is given. Redirections are not followed."""
    import aiohttp
    import orjson

    base = address.rstrip("/").removesuffix("/chat/completions")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    at_home = urlsplit(base).hostname in LOOPBACK
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    try:
        async with (
            aiohttp.ClientSession(trust_env=not at_home, timeout=timeout) as session,
            session.get(f"{base}/models", headers=headers, allow_redirects=False) as response,
        ):
            body = await response.content.read(MOST_BYTES) if response.status == 200 else b""
            status = response.status
    except TimeoutError:
        return Answer(error=f"no answer in {timeout_s:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Answer(error=_reason(error))
    try:
        listed = orjson.loads(body)["data"]
        return Answer(status, tuple(str(each["id"]) for each in listed))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return Answer(status)


def _reason(error: BaseException) -> str:
    """Why an address cannot be reached, without the address.

    >>> _reason(ConnectionRefusedError(111, "Connection refused"))
    'connection refused'
    """
    inner = getattr(error, "os_error", None) or error
    strerror = getattr(inner, "strerror", None)
    return str(strerror or type(error).__name__).lower()
