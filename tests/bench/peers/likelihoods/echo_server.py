"""A server of completions with `echo` and `logprobs` over a local model, as vLLM answers: for tests of likelihoods.

    python echo_server.py                  its address is the first line that it prints

llama.cpp's own server says no probability of a prompt. Here the end of a text, `LAST` tokens of it, is asked for token by
token, and each of these has its logarithm; those before have none (`null`). A text
has the same answer however often it is asked for, as text or as tokens.
"""

from __future__ import annotations

import json
import threading
import urllib.request
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tripos_runtime.models.local import LocalProcess, weights_of

MODEL = "smollm2-135m"
LAST = 20
END: dict[str, Any] = {"id": None, "token": "", "logprob": 0.0, "top_logprobs": [{"token": "", "logprob": 0.0}]}
"""Where the model writes the end, of which the server says nothing."""
ONE = threading.Lock()
"""One request at a time: the last bits of a logarithm depend on what is computed beside it."""


class Weights:
    """The model behind the server."""

    def __init__(self) -> None:
        self.process = LocalProcess.share(weights_of(MODEL), 1)
        self.address = self.process.address()

    def post(self, path: str, **content: Any) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.address}/{path}", json.dumps(content).encode())
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request) as answer:
            return dict(json.loads(answer.read()))

    def tokens(self, text: str) -> list[int]:
        return list(self.post("tokenize", content=text, add_special=False, parse_special=True)["tokens"])

    def text(self, tokens: list[int]) -> str:
        return str(self.post("detokenize", tokens=tokens)["content"])

    def next(self, before: tuple[int, ...], token: int) -> dict[str, Any]:
        """Return the logarithm of a token after others, and the likeliest one there. Of a part of a character that is
        written nothing is said: it is looked up among all, while a full stop is written."""
        part = "\ufffd" in self.text([token])
        told = self.post(
            "completion",
            prompt=list(before),
            n_predict=1,
            n_probs=1 << 20 if part else 1,
            logit_bias=[[self.tokens(".")[0] if part else token, 1000]],
            temperature=0,
            cache_prompt=True,
        )["completion_probabilities"][0]
        every = told["top_logprobs"]
        [found] = [each for each in every if each["id"] == token] if part else [told]
        assert found["id"] == token
        return {**found, "top_logprobs": every[:1]}

    @lru_cache(maxsize=4096)  # noqa: B019 - one server for the process
    def told(self, tokens: tuple[int, ...]) -> dict[str, Any]:
        """Return the text of tokens and one more, with their logarithms."""
        begin = max(1, len(tokens) - LAST)
        said = [self.next(tokens[:place], tokens[place]) for place in range(begin, len(tokens))]
        written = self.post("completion", prompt=list(tokens), n_predict=1, n_probs=1, temperature=0)
        said.append((written.get("completion_probabilities") or [END])[0])
        tops = [{each["top_logprobs"][0]["token"]: each["top_logprobs"][0]["logprob"]} for each in said]
        last = said[-1]["token"]
        return {
            "text": self.text(list(tokens)) + last,
            "tokens": [*(self.text([each]) for each in tokens), last],
            "token_logprobs": [*[None] * begin, *(each["logprob"] for each in said)],
            "top_logprobs": [*[None] * begin, *tops],
        }


class Handler(BaseHTTPRequestHandler):
    weights: Weights

    def do_GET(self) -> None:
        self._answer({"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with ONE:
            if self.path == "/tokenize":
                self._answer({"tokens": self.weights.tokens(asked["prompt"])})
            elif self.path == "/detokenize":
                self._answer({"prompt": self.weights.text(asked["tokens"])})
            else:
                self._answer(self._completed(asked))

    def _completed(self, asked: dict[str, Any]) -> dict[str, Any]:
        given = asked["prompt"]
        prompts = given if isinstance(given, list) and given and not isinstance(given[0], int) else [given]
        choices = []
        for index, prompt in enumerate(prompts):
            told = self.weights.told(tuple(self.weights.tokens(prompt) if isinstance(prompt, str) else prompt))
            lists = {name: each for name, each in told.items() if name != "text"}
            choices.append({"index": index, "text": told["text"], "finish_reason": "length", "logprobs": lists})
        read = sum(len(each["logprobs"]["tokens"]) - 1 for each in choices)
        usage = {"prompt_tokens": read, "completion_tokens": len(choices), "total_tokens": read + len(choices)}
        return {"object": "text_completion", "model": MODEL, "choices": choices, "usage": usage}

    def _answer(self, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def main() -> None:
    Handler.weights = Weights()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
