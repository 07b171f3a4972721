"""The program that executes tests inside their sandbox. The model's code runs in another sandbox: its functions are
`Remote` objects here, whose calls go over a connection and return plain data."""

# ruff: noqa: F821
# mypy: ignore-errors

import ast
import builtins

PYTHON_NAMES = frozenset({*dir(builtins), *sys.stdlib_module_names})


class NotHanded(BaseException):
    """The tests pass a value to the code that is no plain data. It is no `Exception`, so that no `except Exception` of
    the tests catches it."""


def can_fail(node):
    """Return true for a statement that can fail if the code is wrong, unlike a definition, an import or a constant."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return False
    if isinstance(node, ast.If) and any(
        isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(node.test)
    ):
        return False
    return isinstance(node, ast.Assert | ast.Call | ast.Raise) or any(map(can_fail, ast.iter_child_nodes(node)))


def is_fault_of_tests(error, ask, entry):
    """Return true for an error that the code cannot cause, so that the tests would fail with right code too. `ask` is
    the function that raises the errors of the code."""
    if isinstance(error, NotHanded):
        return True
    if isinstance(error, SystemExit):
        return error.code in (None, 0, 5)  # such as by `unittest.main`, which finds no tests here
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    raised_here = last.tb_frame.f_code is not ask.__code__
    return raised_here and isinstance(error, ImportError if entry is None else ImportError | NameError)


def serve() -> None:
    receive, send = connect()
    limits = receive()
    send({"ready": confine(limits["seconds"], limits["memory"])})
    request = receive()

    # Send a request to the code, and return the answer. An error of the code is raised here, if its class is built in.
    def ask(**message):
        send({"ask": message})
        answer = receive()
        if "raised" in answer:
            name, text = answer["raised"]
            kind = getattr(builtins, str(name), None)
            ends = (StopIteration, StopAsyncIteration)  # would silently end a loop of the tests
            if not (isinstance(kind, type) and issubclass(kind, Exception)) or issubclass(kind, ends):
                kind = RuntimeError
            try:
                error = kind(str(text))
            except Exception:
                error = RuntimeError(str(text))
            raise error
        return answer

    class Remote:
        """An object of the code that is no plain data. It can be called and iterated over and has attributes, but
        cannot be compared."""

        __slots__ = ("_number",)

        def __init__(self, number):
            object.__setattr__(self, "_number", int(number))

        def __call__(self, *args, **named):
            answer = ask(of=self._number, args=encoded(list(args), number_of), named=encoded(named, number_of))
            for before, after in zip(args, decoded(answer["args"], Remote), strict=True):
                if type(before) is type(after) and type(before) in (list, dict, set) and before != after:
                    before.clear()
                    (before.extend if type(before) is list else before.update)(after)
            return decoded(answer["value"], Remote)

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            return decoded(ask(of=self._number, attribute=name)["value"], Remote)

        def __iter__(self):
            return iter(decoded(ask(of=self._number, items=True)["value"], Remote))

        def _refuse(self, *_):
            raise TypeError("this is an object of the code, which cannot be compared")

        __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __len__ = __contains__ = __hash__ = _refuse

    def number_of(value):
        if type(value) is not Remote:
            raise NotHanded(f"a value of the type {type(value).__name__} cannot be handed to the code")
        return value._number

    entry = request["entry"]
    try:
        tree = ast.parse(request["tests"])
        compiled = compile(tree, "tests.py", "exec")
    except (SyntaxError, ValueError) as error:
        send({"unusable": f"they are no Python: {error}"})
        return
    if entry is not None and not any(isinstance(each, ast.FunctionDef) and each.name == "check" for each in tree.body):
        send({"unusable": "they define no function `check`"})
        return
    if entry is None and not any(map(can_fail, tree.body)):
        send({"unusable": "nothing of them is executed: they define functions at most, and no `entry` is given"})
        return
    send({"read": True})
    names = receive()["names"]
    try:
        namespace = {"__name__": "tests"}
        if entry is None:  # the code cannot replace names of Python, such as `__builtins__`
            own = [name for name in names if name not in PYTHON_NAMES and not name.startswith("__")]
            namespace |= {name: decoded(names[name], Remote) for name in own}
        exec(compiled, namespace)
        if entry is not None:  # `check` may also call the function by its name
            check, namespace[entry] = namespace["check"], decoded(names[entry], Remote)
            check(namespace[entry])
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        if is_fault_of_tests(error, ask, entry):
            send({"unusable": reason})
        else:
            send({"passed": False, "why": reason})
        return
    send({"passed": True})


if __name__ == "__main__":
    serve()
