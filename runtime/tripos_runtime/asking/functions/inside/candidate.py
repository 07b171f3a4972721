"""A model's code inside its sandbox: it is loaded, and called for the tests, which are elsewhere."""

# ruff: noqa: F821
# mypy: ignore-errors

import types


def serve() -> None:
    hear, say = connect()
    first = hear()
    say({"ready": confine(first["seconds"], first["memory"])})
    code, held = hear()["code"], {}

    def kept(value):
        held[len(held) + 1] = value
        return len(held)

    def fault(error):
        return {"raised": [type(error).__name__, str(error)[:500]]}

    module = types.ModuleType("candidate")
    sys.modules["candidate"] = module
    try:
        exec(compile(code, "candidate.py", "exec"), module.__dict__)
        names = [name for name, value in module.__dict__.items() if not name.startswith("__")]
        values = {n: encoded(module.__dict__[n], kept) for n in names if type(module.__dict__[n]) is not type(sys)}
        say({"names": values})
    except BaseException as error:
        say(fault(error))
        os._exit(0)
    while True:
        asked = hear()
        try:
            target = held[asked["of"]]
            if "attribute" in asked:
                answer = {"value": encoded(getattr(target, asked["attribute"]), kept)}
            elif "items" in asked:
                items = []
                for item in target:
                    items.append(item)
                    if len(items) > MOST_ITEMS:
                        raise OverflowError("too many items")
                answer = {"value": encoded(items, kept)}
            else:
                args = decoded(asked["args"], held.__getitem__)
                named = decoded(asked["named"], held.__getitem__)
                value = encoded(target(*args, **named), kept)
                answer = {"value": value, "args": encoded(args, kept)}
            say(answer)
        except Exception as error:
            say(fault(error))
        except BaseException:
            os._exit(0)


if __name__ == "__main__":
    serve()
