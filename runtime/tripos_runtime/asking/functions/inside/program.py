"""A model's program inside its sandbox: it reads an input as a program does, and what it writes is passed on."""

# ruff: noqa: F821, SIM115
# mypy: ignore-errors

import threading


def serve() -> None:
    hear, say = connect()
    first = hear()
    say({"ready": confine(first["seconds"], first["memory"])})
    given = hear()
    (take, give), (taken, giving) = os.pipe(), os.pipe()
    os.dup2(take, 0)
    os.dup2(giving, 1)
    for number in (take, giving):
        os.close(number)
    written = []

    def feed():
        try:
            with os.fdopen(give, "wb") as pipe:
                pipe.write(given["input"].encode())
        except OSError:
            pass  # the program reads no more

    def collect():
        left = LONGEST // 2
        while part := os.read(taken, 65536):
            if left > 0:
                written.append(part[:left])
                left -= len(part)

    own = [threading.Thread(target=each, daemon=True) for each in (feed, collect)]
    for thread in own:
        thread.start()
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    raised = None
    try:
        exec(compile(given["code"], "program.py", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    except SystemExit:
        pass
    except BaseException as error:
        raised = type(error).__name__
    try:
        for thread in threading.enumerate():
            if thread not in own and thread is not threading.main_thread() and not thread.daemon:
                thread.join()
        sys.stdout.flush()
    except BaseException as error:
        raised = type(error).__name__
    os.dup2(2, 1)  # the end of what is written
    own[1].join()
    say({"said": b"".join(written).decode("utf-8", "replace"), "raised": raised})
    os._exit(0)


if __name__ == "__main__":
    serve()
