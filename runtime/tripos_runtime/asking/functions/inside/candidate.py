"""The program that executes a model's code inside its sandbox: it loads the code, and calls it for the tests, which run
in another sandbox."""

# ruff: noqa: F821
# mypy: ignore-errors

import types


def serve() -> None:
    receive, send = connect()
    limits = receive()
    send({"ready": confine(limits["seconds"], limits["memory"])})
    code, objects = receive()["code"], {}

    def number_of(value):
        objects[len(objects) + 1] = value
        return len(objects)

    def raised(error):
        return {"raised": [type(error).__name__, str(error)[:500]]}

    module = types.ModuleType("candidate")
    sys.modules["candidate"] = module
    try:
        exec(compile(code, "candidate.py", "exec"), module.__dict__)
        names = [name for name, value in module.__dict__.items() if not name.startswith("__")]
        values = {n: encoded(module.__dict__[n], number_of) for n in names if type(module.__dict__[n]) is not type(sys)}
        send({"names": values})
    except BaseException as error:
        send(raised(error))
        os._exit(0)
    while True:
        request = receive()
        try:
            target = objects[request["of"]]
            if "attribute" in request:
                answer = {"value": encoded(getattr(target, request["attribute"]), number_of)}
            elif "items" in request:
                items = []
                for item in target:
                    items.append(item)
                    if len(items) > MOST_ITEMS:
                        raise OverflowError("too many items")
                answer = {"value": encoded(items, number_of)}
            else:
                args = decoded(request["args"], objects.__getitem__)
                named = decoded(request["named"], objects.__getitem__)
                value = encoded(target(*args, **named), number_of)
                answer = {"value": value, "args": encoded(args, number_of)}
            send(answer)
        except Exception as error:
            send(raised(error))
        except BaseException:
            os._exit(0)


if __name__ == "__main__":
    serve()
