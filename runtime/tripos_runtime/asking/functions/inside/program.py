"""The program that executes a model's program inside its sandbox, with an input on its standard input, and sends back
what it writes to standard output."""

# ruff: noqa: F821, SIM115
# mypy: ignore-errors

import threading


def serve() -> None:
    receive, send = connect()
    limits = receive()
    send({"ready": confine(limits["seconds"], limits["memory"])})
    request = receive()
    (input_read, input_write), (output_read, output_write) = os.pipe(), os.pipe()
    os.dup2(input_read, 0)
    os.dup2(output_write, 1)
    for descriptor in (input_read, output_write):
        os.close(descriptor)
    parts = []

    def write_input():
        try:
            with os.fdopen(input_write, "wb") as pipe:
                pipe.write(request["input"].encode())
        except OSError:
            pass  # the program has stopped reading

    def read_output():
        room = LONGEST // 2  # the rest is discarded
        while part := os.read(output_read, 65536):
            if room > 0:
                parts.append(part[:room])
                room -= len(part)

    own_threads = [threading.Thread(target=each, daemon=True) for each in (write_input, read_output)]
    for thread in own_threads:
        thread.start()
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    raised = None
    try:
        exec(compile(request["code"], "program.py", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    except SystemExit:
        pass
    except BaseException as error:
        raised = type(error).__name__
    try:
        for thread in threading.enumerate():
            if thread not in own_threads and thread is not threading.main_thread() and not thread.daemon:
                thread.join()
        sys.stdout.flush()
    except BaseException as error:
        raised = type(error).__name__
    os.dup2(2, 1)  # closes the pipe, so that `read_output` ends
    own_threads[1].join()
    send({"output": b"".join(parts).decode("utf-8", "replace"), "raised": raised})
    os._exit(0)


if __name__ == "__main__":
    serve()
