"""Every option of Tripos: of its commands, of `tripos.toml`, of the environment and of the Python API.

Options that several commands have come first, then the settings that no command has, then the options of the commands
in the order of `tripos --help`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

from tripos.settings.option import (
    Alternatives,
    Kind,
    Option,
    Parameters,
    Refusal,
    argument,
    choice,
    duration,
    flag,
    length_pt,
    number,
    option,
    possible,
    repeated,
    setting,
    several,
    text,
    whole,
)


# Kinds of values
def _margin(given: str) -> tuple[str | None, float]:
    """Return a number above 0 and the measure it applies to, such as `accuracy=0.02`.

    >>> _margin("0.02"), _margin("accuracy=0.02")
    ((None, 0.02), ('accuracy', 0.02))
    """
    name, equals, digits = given.rpartition("=")
    if equals and not name:
        raise Refusal(f"a name is missing before `{given}`")
    value = float(digits)
    if fault := number(0, above=True).fault(value, given):
        raise Refusal(fault)
    return (name or None), value


COUNT = whole(1)
FOLDER = text("DIR", completes="folder", place="local")
FILE_PATH = text("FILE", completes="file", place="local")
OUTPUT_FILE = text("FILE", completes="file", place="written")
SPEC_PATH = text("PATH", completes="spec")
STORE_PLACE = text("DIR", completes="folder", place="store")
OTHER_STORE = text("STORE", place="store")
RUN_ID = text("RUN", completes="run")
MODEL_NAMES = text("A[,B]", completes="model")
SCENARIO_NAME = text("NAME", completes="scenario")
TABLE_FORMAT = choice("text", "md", "latex", "csv", "json", "html", short={"markdown": "md", "tex": "latex"})
MARGIN_OF = Kind(_margin, "[NAME=]X", noun="number")
LENGTH = Kind(length_pt, "LENGTH", noun="length such as 8.4cm")
RATE = number(0, above=True)
PORT = whole(0, 65_535)
KUBERNETES_NAME = text("NAME", pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")

PlotKind = Literal["leaderboard", "runs", "heatmap", "radar", "gain", "judges", "calibration", "power", "cost"]
PLOTS: tuple[PlotKind, ...] = get_args(PlotKind)
"""The kinds of plots. They are declared here because importing `tripos.plots` takes longer than most commands."""

FLAGS = ("again", "good", "bad")
"""The flags of notes on replies, repeated here for the same reason."""


# Places of a spec, its data and its store
PATH = argument(SPEC_PATH, "a .tripos file, or a folder that holds one")
IN_SPEC = option(
    SPEC_PATH, "add it to this spec: a .tripos file, or a folder that holds one (default: print it)", written="in"
)
DATA = repeated(
    FOLDER,
    "search this folder for data files too",
    setting="data",
    variable="TRIPOS_DATA",
    separator=os.pathsep,
    combined=True,
    keyword="data",
)
RELEASES = repeated(
    FOLDER,
    "search this folder too for releases that the spec extends",
    setting="releases",
    combined=True,
    keyword="releases",
)
STORE = option(
    STORE_PLACE,
    "folder of the store, or s3://BUCKET/PREFIX (default: results)",
    default="results",
    setting="store",
    variable="TRIPOS_STORE",
    keyword="store",
)
PROFILE = option(
    text("NAME"), "use the settings of [profiles.NAME] in tripos.toml", variable="TRIPOS_PROFILE", keyword="profile"
)
REUSE = repeated(
    OTHER_STORE,
    "take over the replies that this other store has, and only read it; may be repeated",
    setting="reuse",
    variable="TRIPOS_REUSE",
    keyword="reuse",
)

# Trust
ALLOW_OUTSIDE = flag(
    "let the spec read files outside of its folder, its project and the data folders", keyword="allow_outside"
)
READ_OUTSIDE = flag("read files outside of the folder and the project of what is imported")
UNTRUSTED = flag(
    (
        "do not trust the benchmark: run no Python, open no connection, read no tripos.toml, and read less "
        "(also TRIPOS_UNTRUSTED=1)"
    ),
    variable="TRIPOS_UNTRUSTED",
    keyword="untrusted",
)
ALLOW_PRIVATE = flag(
    "with a URL: allow addresses of this machine and its networks, and there http too", keyword="allow_private"
)
SIGNED = flag("with a URL: sign requests to object stores and the Hub with your keys", keyword="signed")
ALLOW_PROGRAM = repeated(
    text("NAME[=URL]"),
    "let scorers start this program, or ask the service NAME at URL; may be repeated",
    keyword="allow_programs",
)
ALLOW_UNSANDBOXED = repeated(
    text("NAME"),
    "let this program execute what models write without a sandbox; may be repeated",
    keyword="allow_unsandboxed",
)
DENY = repeated(
    text("CODE[,CODE]"),
    "turn these warnings into errors; `warnings`: all of them",
    setting="check.deny",
    variable="TRIPOS_DENY",
    combined=True,
    keyword="deny",
)

# Models and items
MODEL = repeated(
    MODEL_NAMES,
    "model under test; several are separated by commas",
    setting="models",
    variable="TRIPOS_MODEL",
    combined=True,
    keyword="models",
)
ROLE = repeated(
    text("NAME=A[,B]"),
    "model for another role (default: the model under test)",
    setting="roles",
    combined=True,
    keyword="roles",
)
LIMIT = option(COUNT, "use at most N items for each scenario", keyword="limit")
ONLY = repeated(
    text("AXIS=V[,V]"),
    "use only items, or treatments, with this value of an axis or arm; may be repeated",
    keyword="only",
)
SCENARIO = repeated(SCENARIO_NAME, "run this scenario only; may be repeated", keyword="scenarios")
SUBSET = option(text("NAME"), "use only the items of this `subset` of the spec", keyword="subset")
SEED = option(whole(), "with --limit: draw the items with this seed", keyword="seed")
SHARD = option(
    text("I/N"),
    "use only the I-th of N parts of the items, which a hash decides: for several machines",
    keyword="shard",
)
DIVIDE = flag("with --shard: take the N-th part of the limits and the budget too", needs=("shard",), forwarded=False)

# How a run calls models, and when it ends
BATCH = flag("ask models in batches of their providers: half the price, and replies within a day", keyword="batch")
UNTIL = option(
    choice("settled", "end"),
    (
        "settled: take items in random order, and stop when every comparison of models and every `expect` "
        "is settled; end: go on to the last item (default: as the spec says)"
    ),
    keyword="until",
)
MARGIN = option(
    number(0, metavar="M", above=True),
    "with --until: stop when every measure is this close to what all items would show, such as 0.02",
    keyword="margin",
)
MAX_CONNECTIONS = option(
    whole(1, 4096),
    "largest number of concurrent calls to an endpoint (default: 16)",
    default=16,
    setting="limits.max_connections",
    variable="TRIPOS_MAX_CONNECTIONS",
    keyword="max_connections",
)
MAX_RETRIES = option(
    whole(0, 100),
    "retries for transient errors (default: 5)",
    default=5,
    setting="limits.max_retries",
    variable="TRIPOS_MAX_RETRIES",
    keyword="max_retries",
)
BUDGET = repeated(
    text("AMOUNT"),
    "spend at most this amount: 5usd, 200000tokens or 1000calls; may be repeated for other units",
    setting="budget",
    variable="TRIPOS_BUDGET",
    keyword="budget",
)
TIMEOUT = option(
    number(0, 86_400, "S", above=True, noun="number of seconds"),
    "timeout of a call with its retries, in seconds (default: 600)",
    default=600.0,
    setting="limits.timeout_s",
    variable="TRIPOS_TIMEOUT",
    keyword="timeout_s",
)
PATIENCE = option(
    number(0, 604_800, "S", noun="number of seconds"),
    "time that an endpoint may be silent before its calls fail, in seconds (default: 900)",
    default=900.0,
    setting="limits.patience_s",
    variable="TRIPOS_PATIENCE",
    keyword="patience_s",
)
LOCKED = option(
    FILE_PATH,
    ("refuse to run with data, models, prices or functions that differ from the lock file (default: tripos.lock)"),
    nargs="?",
    const="tripos.lock",
    keyword="locked",
)
DRY_RUN = flag("forecast calls, reuse and cost; make no call", forwarded=False)
SHARDS = option(
    whole(1, 1000),
    "with --on: the number of shards (default: 8)",
    default=8,
    setting="cluster.shards",
    needs=("on",),
    forwarded=False,
)
TIME_LIMIT = option(
    duration(60, 30 * 86_400),
    "with --on: the longest time of a shard (slurm, default: 4h), or of the Job (k8s)",
    setting="cluster.time_limit_s",
    needs=("on",),
    forwarded=False,
)
IMAGE = option(
    text("IMAGE", pattern=r"^[A-Za-z0-9][\w./:@-]*$"),
    "with --on k8s: a container image with Tripos and the benchmark",
    setting="cluster.image",
    needs=("on",),
    forwarded=False,
)

# Output
EVENTS = option(OUTPUT_FILE, "write the progress of the run as JSON Lines to a file, or to standard output for `-`")
JUNIT = option(OUTPUT_FILE, "write the result of every `expect` to a file, as JUnit XML for CI")
VERBOSE = flag("show every endpoint too: running calls, waiting calls and retries", short="v")
SQL = flag("print the SQL of the headline too")
JSON = flag("print a summary as JSON")
FORMAT = option(
    TABLE_FORMAT,
    "print tables as text, Markdown, LaTeX (booktabs and siunitx), CSV, JSON or HTML (default: text)",
    default="text",
)
INTERVAL = option(
    choice("ci", "pm", "none"),
    "in md, latex and html: print intervals as [low, high] (ci), as ± (pm), or not at all (none)",
)
LANGUAGE = option(
    text("CODE"),
    "show titles in this language, such as de or zh, and Tripos's words too if it has them (default: yours)",
)
RUN = possible(RUN_ID, "a run, or a prefix of its name (default: the last run)")
OUTPUT = option(FOLDER, "folder of the new model", short="o", required=True)

# Imports and training
FILE = argument(FILE_PATH, "CSV, TSV, Excel, JSON Lines, JSON, Parquet or Arrow; or a pattern such as `{language}.csv`")
COLUMN = repeated(text("FIELD=COLUMN"), "map a field to a column, such as value=Score; may be repeated")
SET = repeated(text("FIELD=VALUE"), "set a field to the same value in every row, such as language=en; may be repeated")
EACH = option(text("COLUMN"), "make a row of every entry of the lists in this column")
MAPPING = option(text("TOML", completes="file", place="local"), "read the mapping from a file")
REJECTED = option(OUTPUT_FILE, "write the rejected rows to a file, as .jsonl or .csv")
SKIP_REJECTED = flag("import the valid rows without the rejected ones")
REPLACE = flag("replace scores in the store that changed")
DEVICE = option(choice("auto", "cpu", "cuda"), "device (default: a GPU if there is one)", default="auto")


# Settings that no command has
REPLY_MEMORY_MB = setting(
    "limits.reply_memory_mb",
    whole(1, 1_048_576),
    "memory for large replies of all calls in flight, in MB",
    default=256,
    variable="TRIPOS_REPLY_MEMORY_MB",
)
REQUESTS_PER_MINUTE = setting(
    "limits.requests_per_minute", RATE, "calls to an endpoint per minute", variable="TRIPOS_REQUESTS_PER_MINUTE"
)
TOKENS_PER_MINUTE = setting(
    "limits.tokens_per_minute", RATE, "tokens per minute, sent and received", variable="TRIPOS_TOKENS_PER_MINUTE"
)
CPUS = setting("cluster.cpus", whole(1, 1024), "processors of a shard", default=1)
MEMORY_MB = setting("cluster.memory_mb", whole(256, 16_777_216), "memory of a shard, in MB", default=2048)
SBATCH: Option[list[str]] = repeated(
    text("OPTION", pattern=r"^--[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"),
    "further options of sbatch",
    setting="cluster.sbatch",
    file_only=True,
)
WORK_FOLDER = setting(
    "cluster.folder", text("DIR", pattern="^/.*$"), "working folder in the container", default="/work"
)
CLAIM = setting("cluster.claim", KUBERNETES_NAME, "claim of a volume that all pods share")
SECRET = setting("cluster.secret", KUBERNETES_NAME, "Secret with the keys", default="tripos-keys")


# Commands
class InitParameters(Parameters):
    """Options of `tripos init`."""

    name = possible(text("NAME"), "the folder to make; its last part names the benchmark")
    template = option(choice(of="tripos.cli.project_files:TEMPLATES"), "the benchmark to begin with (default: qa)")
    shipped = option(
        SPEC_PATH, "begin with a benchmark that comes with Tripos, such as gallery/simpleqa", written="from"
    )
    model = repeated(
        MODEL_NAMES, "models under test in the settings; several are separated by commas (default: mock models)"
    )
    yes = flag("ask nothing: take the defaults", short="y")
    json = JSON


class NewParameters(Parameters):
    """Options of `tripos new`."""

    kind = argument(choice("scenario", "metric", metavar="KIND"), "scenario or metric")
    name = argument(text("NAME"), "the name that it gets")
    path = IN_SPEC
    over = option(text("NAME"), "scenario: the data set that it runs over (default: the first)", only_for=("scenario",))
    dimension = option(
        text("NAME"), "metric: the dimension that it belongs to (default: the only one)", only_for=("metric",)
    )
    scenario = SCENARIO.but(
        "metric: grade it in this scenario; may be repeated (default: where its dimension is graded)",
        only_for=("metric",),
    )
    data, json = DATA, JSON


class CheckParameters(Parameters):
    """Options of `tripos check`."""

    paths = several(SPEC_PATH, "a .tripos file, or a folder that holds one", least=1)
    data, releases, allow_outside, untrusted, allow_private = DATA, RELEASES, ALLOW_OUTSIDE, UNTRUSTED, ALLOW_PRIVATE
    signed, deny = SIGNED, DENY
    all = flag("show every error and warning, not only the first 100")
    format = option(choice("text", "json", "sarif", "github"), "set the format of errors and warnings", default="text")
    json = JSON.but("print JSON, like --format json")
    against = option(
        SPEC_PATH,
        "check the version against an earlier one: a spec, a release, a plan in JSON, or REVISION:PATH of git",
    )
    worlds = option(
        COUNT, "test secrecy in N pairs of worlds that differ in secrets alone (default: 4)", nargs="?", const=4
    )


class FmtParameters(Parameters):
    """Options of `tripos fmt`."""

    paths = several(
        SPEC_PATH,
        "a .tripos file, or a folder with such files; `-`: read standard input, write standard output",
        least=1,
    )
    check = flag("change nothing; name files to format, and exit with 1 if there are any")
    diff = flag("change nothing; show the changes as a diff")
    untrusted, json = UNTRUSTED, JSON


class DescribeParameters(Parameters):
    """Options of `tripos describe`."""

    path, data, releases, allow_outside, untrusted = PATH, DATA, RELEASES, ALLOW_OUTSIDE, UNTRUSTED
    allow_private, signed, deny = ALLOW_PRIVATE, SIGNED, DENY
    dataset = repeated(text("NAME[,NAME]"), "describe these data sets only (default: all from files)")
    together = flag("describe the data sets as one")
    by = repeated(
        text("FIELD[,FIELD]"), "describe the rows separately for each value of a field, or each combination of several"
    )
    group = repeated(text("NAME=V[,V]"), "with --by: count these values under one name; may be repeated", needs=("by",))
    field = repeated(
        text("NAME[=FIGURE][,NAME]"),
        "describe these fields only; with --by, FIGURE is shown of a field in place of --figure",
    )
    figure = option(
        choice("rows", "values", "distinct", "mean", "least", "median", "most"),
        "with --by: show this figure for each field (default: mean)",
        needs=("by",),
    )
    unit = option(
        choice("characters", "words"),
        "count the length of texts in this unit (default: characters)",
        default="characters",
    )
    format = option(choice("table", "json", "csv"), "print a table, or all figures as JSON or CSV", default="table")
    json = JSON.but("print JSON, like --format json")


class ExplainParameters(Parameters):
    """Options of `tripos explain`."""

    codes = several(
        text("CODE|WORD", completes="word"),
        (
            "a code such as E0201, a prefix such as E02, or a word of the language such as `scenario`, `shots` "
            "or `mean`; `index` lists all words (default: list all codes)"
        ),
    )
    json = JSON


class DocsParameters(Parameters):
    """Options of `tripos docs`."""

    page = possible(
        text("PAGE|CODE"),
        ("a page such as `running`, a statement or function, or a code such as E0501 (default: the first page)"),
    )
    print = flag("print the address and open nothing")
    search = option(text("WORDS"), "list the sections of all pages that fit these words best, and open nothing")
    text = flag("print the page as Markdown and open nothing; of a function or a code, its section")
    json = JSON
    _one_of = Alternatives((page, search))


class PlanParameters(Parameters):
    """Options of `tripos plan`."""

    paths = several(
        SPEC_PATH, "a .tripos file, or a folder that holds one; several are planned one after another", least=1
    )
    data, releases, allow_outside, untrusted, allow_private = DATA, RELEASES, ALLOW_OUTSIDE, UNTRUSTED, ALLOW_PRIVATE
    signed, deny, model, role, limit, only, scenario = SIGNED, DENY, MODEL, ROLE, LIMIT, ONLY, SCENARIO
    subset, seed, shard, divide, batch, until, margin = SUBSET, SEED, SHARD, DIVIDE, BATCH, UNTIL, MARGIN
    store, profile, reuse = STORE, PROFILE, REUSE
    prompts = option(
        COUNT,
        "print the prompts of the first N items of each scenario, whole (default: 1), and nothing else",
        nargs="?",
        const=1,
    )
    table = repeated(text("NAME"), "print the empty form of this table, and nothing else; may be repeated")
    _one_of = Alternatives((prompts, table))
    json = JSON.but("print the plan itself; with --prompts the prompts")
    detect = option(
        number(0, metavar="DIFFERENCE", above=True),
        "find the cheapest design that detects this difference of two models, in the unit of the measure",
    )
    spend = option(
        text("AMOUNT"), "find the design that detects the least difference for this amount: 20usd or 1000calls"
    )
    measure = option(
        text("NAME"),
        "with --detect or --spend: the measure (default: the first of the headline)",
        needs=("detect", "spend"),
    )
    pilot = option(
        COUNT,
        "with --detect or --spend: the items of a pilot, where the store says nothing yet (default: 20)",
        needs=("detect", "spend"),
    )
    label_price = option(
        number(0, metavar="USD", above=True),
        ("with --detect or --spend: the price in USD of a reply that a person grades, so that designs may have labels"),
        needs=("detect", "spend"),
    )


class RunParameters(Parameters):
    """Options of `tripos run`."""

    paths = several(SPEC_PATH, "a .tripos file, or a folder that holds one; several are run one after another", least=1)
    data, releases, allow_outside, untrusted, allow_private = DATA, RELEASES, ALLOW_OUTSIDE, UNTRUSTED, ALLOW_PRIVATE
    signed, deny = SIGNED, DENY
    fetch = flag("fetch the releases that the spec extends from where it says, as `tripos fetch` does")
    workers = option(
        COUNT,
        "make the calls in N processes, which share the limits and the budget (default: 1)",
        default=1,
        keyword="workers",
    )
    on = option(
        choice("slurm", "k8s", "ray"),
        "run shards on a cluster: print an array of Slurm or a Job of Kubernetes, or run tasks of Ray",
        forwarded=False,
    )
    submit = flag("with --on: hand the script to sbatch or kubectl", needs=("on",), forwarded=False)
    write = option(OUTPUT_FILE, "with --on: write the script to a file", needs=("on",), forwarded=False)
    shards = SHARDS
    time_limit = TIME_LIMIT
    image = IMAGE
    until, margin, batch = UNTIL, MARGIN, BATCH
    detach = flag(
        "with --batch: submit the batches and leave; the same command again collects them (exit code 75)",
        needs=("batch",),
        keyword="detach",
    )
    model, role, limit, only, scenario, subset, seed, shard = MODEL, ROLE, LIMIT, ONLY, SCENARIO, SUBSET, SEED, SHARD
    divide, store, profile, reuse, max_connections = DIVIDE, STORE, PROFILE, REUSE, MAX_CONNECTIONS
    max_retries, budget, timeout, patience, locked = MAX_RETRIES, BUDGET, TIMEOUT, PATIENCE, LOCKED
    allow_program, allow_unsandboxed, dry_run, events = ALLOW_PROGRAM, ALLOW_UNSANDBOXED, DRY_RUN, EVENTS
    junit, verbose, sql = JUNIT, VERBOSE, SQL
    json = JSON.but("print a summary as JSON instead of the headline")


class TeachParameters(Parameters):
    """Options of `tripos teach`."""

    name = option(text("NAME"), "your name; the model of your turns is human/NAME", required=True)
    path, data, releases, allow_outside, untrusted = PATH, DATA, RELEASES, ALLOW_OUTSIDE, UNTRUSTED
    allow_private, signed, deny, model, role, limit, only = ALLOW_PRIVATE, SIGNED, DENY, MODEL, ROLE, LIMIT, ONLY
    scenario, subset, seed, shard, divide, store, profile = SCENARIO, SUBSET, SEED, SHARD, DIVIDE, STORE, PROFILE
    reuse, max_connections, max_retries, budget, timeout = REUSE, MAX_CONNECTIONS, MAX_RETRIES, BUDGET, TIMEOUT
    patience, locked, allow_program, allow_unsandboxed = PATIENCE, LOCKED, ALLOW_PROGRAM, ALLOW_UNSANDBOXED
    dry_run, events, junit, verbose, sql = DRY_RUN, EVENTS, JUNIT, VERBOSE, SQL
    json = JSON.but("print a summary as JSON instead of the headline")


class ReportParameters(Parameters):
    """Options of `tripos report`."""

    run, store, profile = RUN, STORE, PROFILE
    spec = option(SPEC_PATH, "compute the measures of this spec from the results of the run; make no call")
    data = DATA.but("with --spec: search this folder for data too", needs=("spec",))
    only, untrusted, deny, junit, format, interval = ONLY, UNTRUSTED, DENY, JUNIT, FORMAT, INTERVAL
    language = LANGUAGE
    sql = SQL.but("print the SQL of every measure")
    confusion = flag(
        "print the classes that were said for each that is right, and the share of probabilities that came true"
    )
    items = flag("print how hard each item is, whether it tells models apart, and which items to look at")
    table = repeated(text("NAME"), "print this table of the benchmark, and nothing else; may be repeated")
    tables = flag("print all tables of the benchmark, and nothing else")
    json = JSON.but("print the report as JSON")
    html = option(OUTPUT_FILE, "write the report as one page that needs no server")
    pdf = option(OUTPUT_FILE, "write the report as PDF, for paper")
    _one_of = Alternatives((table, tables))


class ViewParameters(Parameters):
    """Options of `tripos view`."""

    run = RUN.but("a run, or a prefix of its name (default: all runs)")
    store, profile = STORE, PROFILE
    to = option(
        text("FOLDER", completes="folder"), "write the page to this folder, for any web server or to open from disk"
    )
    port = option(PORT, "serve on this port (default: any that is free)", default=0)
    name = option(text("NAME"), "name of the person who writes notes on replies (default: the page asks for it)")
    read_only = flag("let nobody write notes on replies")
    no_notes = flag("with --to: leave out the notes of people", needs=("to",))
    open = flag("open the page in the browser")
    language = LANGUAGE
    json = JSON.but("with --to: print a summary as JSON", needs=("to",))
    _one_of = Alternatives((to, port))


class CompareParameters(Parameters):
    """Options of `tripos compare`."""

    runs = several(
        RUN_ID,
        ("two runs, or one run with two models (default: the last run; if it has one model, with the run before)"),
    )
    models = repeated(text("A,B", completes="model"), "the two models to compare")
    anyway = flag("compare even if the rubric, the judges or the scores changed between the runs")
    store, profile = STORE, PROFILE
    within = repeated(
        MARGIN_OF,
        ("say whether A and B are equivalent within this margin, or B not worse; of NAME alone, or of every row"),
    )
    fail_on = option(
        choice("worse", "undecided"),
        (
            "exit with code 100 if B is worse on any row, or is not within its margin; with undecided, also if a row"
            " shows neither or cannot be compared"
        ),
    )
    junit = JUNIT.but("write a test for every measure to a file, as JUnit XML for CI; one fails where A is better")
    format, interval, language = FORMAT, INTERVAL, LANGUAGE
    json = JSON.but("print the comparison as JSON")


class LeaderboardParameters(Parameters):
    """Options of `tripos leaderboard`."""

    benchmarks = several(text("BENCHMARK"), "benchmarks to show (default: all)")
    board = option(text("NAME"), "rank the runs of this board alone, which `tripos promote` names")
    measure = repeated(
        text("BENCHMARK=NAME"), "use this measure of a benchmark instead of its headline; may be repeated"
    )
    published = repeated(
        FILE_PATH, "add the published figures of this CSV file, marked and without a rank; may be repeated"
    )
    format, interval, language, store, profile = FORMAT, INTERVAL, LANGUAGE, STORE, PROFILE
    anyway = flag("rank models of other major versions too, although their scores have another meaning")
    json = JSON.but("print JSON, like --format json")


class HistoryParameters(Parameters):
    """Options of `tripos history`."""

    measure = argument(text("MEASURE"), "a measure, such as accuracy or parity.accuracy")
    benchmark = possible(
        text("BENCHMARK|SPEC"),
        "a benchmark of the store, or its spec or release (default: the one that has the measure)",
    )
    models = repeated(text("A,B", completes="model"), "show these models only")
    store, profile, data, releases, untrusted = STORE, PROFILE, DATA, RELEASES, UNTRUSTED
    allow_private, signed, language = ALLOW_PRIVATE, SIGNED, LANGUAGE
    json = JSON.but("print the history as JSON")


class JudgesParameters(Parameters):
    """Options of `tripos judges`."""

    run, store, profile, language = RUN, STORE, PROFILE, LANGUAGE
    since = option(RUN_ID, "count the drift of judges from this earlier run, on the same replies")
    against = option(text("NAME"), "hold the judges against this evaluator instead of people, such as a stronger judge")
    agree = option(
        number(0, 1, "SHARE"),
        "learn thresholds of cascades that agree with people in this share of replies (default: 0.9)",
    )
    json = JSON.but("print JSON")


class PlotParameters(Parameters):
    """Options of `tripos plot`."""

    kind = argument(choice(*PLOTS, metavar="KIND"), ", ".join(PLOTS))
    run = several(
        RUN_ID,
        (
            "a run, or a prefix of its name (default: the last run; leaderboard and cost: all models of its "
            "benchmark); runs: several, or all of the benchmark"
        ),
    )
    store, profile = STORE, PROFILE
    out = option(OUTPUT_FILE, "write the picture to this file: .svg, .png, .pdf or .vl.json (Vega-Lite)", required=True)
    measure = option(
        text("NAME"),
        "draw this measure (default: the headline, or the first that fits)",
        only_for=tuple(plot for plot in PLOTS if plot not in ("heatmap", "judges")),
    )
    models = repeated(text("A,B", completes="model"), "draw these models only, in this order")
    against = option(text("NAME"), "judges: hold judges against this evaluator (default: people)", only_for=("judges",))
    metric = option(text("NAME"), "judges: draw the grades of this metric only", only_for=("judges",))
    cost = option(
        choice("usd", "tokens", "seconds"),
        "cost: USD for 1,000 replies, tokens written per reply, or seconds per reply (default: usd)",
        only_for=("cost",),
    )
    size = option(
        choice("column", "page", "slide"),
        "size of the picture: a column or a page of a paper, or a slide (default: page)",
        written="for",
        default="page",
    )
    width = option(LENGTH, "width of the picture, such as 8.4cm or 3.3in")
    font = option(text("NAME"), "font of all texts")
    font_size = option(number(0, metavar="POINTS", above=True), "size of the texts in points")
    language = LANGUAGE
    bare = flag("leave out the title and the notes, which are printed")
    json = JSON


class SqlParameters(Parameters):
    """Options of `tripos sql`."""

    query = possible(text("QUERY"), "DuckDB SQL")
    store, profile = STORE, PROFILE
    run = option(RUN_ID, "show this run in the benchmark's views (default: the latest state)")
    output = option(OUTPUT_FILE, "write the answer to a file: .csv, .parquet, .json or .jsonl", short="o")
    format = FORMAT
    json = JSON.but("print JSON, like --format json")
    snippet = flag("print SQL that creates the same views and macros in any DuckDB")
    duckdb = option(OUTPUT_FILE, "write a DuckDB database with the same views and macros")


class ListParameters(Parameters):
    """Options of `tripos list`."""

    store, profile = STORE, PROFILE
    json = JSON.but("print the runs as JSON")


class ShowParameters(Parameters):
    """Options of `tripos show`."""

    key = possible(
        text("KEY"),
        (
            "a conversation_id, turn_id or sample_id, or a prefix of one, of 6 characters or more (default: "
            "list the last replies)"
        ),
    )
    store, profile = STORE, PROFILE
    full = flag("list all replies that followed")
    json = JSON.but("print JSON")


class WhyParameters(Parameters):
    """Options of `tripos why`."""

    key = argument(text("KEY"), "a sample_id, judgement_id or score_id, or a prefix of one, of 6 characters or more")
    store, profile = STORE, PROFILE
    full = flag("print every text in full")
    json = JSON.but("print JSON")


class AnnotateParameters(Parameters):
    """Options of `tripos annotate`."""

    run = RUN
    role = option(text("ROLE"), "role of the person (default: the role that grades)")
    name = option(text("NAME"), "name of the person; the evaluator is human/NAME")
    output = option(
        OUTPUT_FILE,
        "spreadsheet to write, or with --page the file for the grades (default: NAME.xlsx, NAME.jsonl)",
        short="o",
    )
    page = flag("grade on a page in the browser, served to this machine only")
    language = LANGUAGE.but("headings, criteria and levels in this language (default: that of each item)")
    port = option(PORT, "with --page: port of the page (default: a free port)", needs=("page",))
    sample = option(COUNT, "draw N replies in all, evenly over scenarios and models")
    overlap = option(
        number(0, 1, "SHARE"),
        "draw this share of the sample from replies of other people, and the rest from new replies",
        needs=("sample",),
    )
    whole_items = flag(
        "with --sample: draw items with every reply to them, the same items of each model", needs=("sample",)
    )
    optimal = flag(
        "with --sample: draw more where earlier grades varied more, by scenario and model", needs=("sample",)
    )
    balance = repeated(
        text("NAME"),
        "with --sample: draw each value of this axis, arm or column in its proportion; may be repeated",
        needs=("sample",),
    )
    limit = LIMIT
    only = ONLY.but("use only items, or replies, with this value of an axis or arm; may be repeated")
    scenario = SCENARIO.but("use this scenario only; may be repeated")
    subset = SUBSET
    flagged = option(choice("any", *FLAGS), "use only replies that somebody flagged so on the page of results")
    seed = SEED.but("seed of the draw and of the order (default: 0)")
    round = option(COUNT, "round of this person (default: 1)")
    take = option(FILE_PATH, "check the grades, or the notes, of a returned file, and import them")
    partial = flag("with --take: leave out replies without a grade, and notes on replies that changed", needs=("take",))
    store, profile = STORE, PROFILE
    json = JSON.but("with --take: print a summary as JSON", needs=("take",))


class ImportScoresParameters(Parameters):
    """Options of `tripos import scores`."""

    file, column, set, each, mapping, rejected = FILE, COLUMN, SET, EACH, MAPPING, REJECTED
    skip_rejected = SKIP_REJECTED
    dry_run = DRY_RUN.but("show the rows to import, and write nothing")
    evaluator = option(text("NAME"), "rater of the scores, such as human/alice")
    round = option(COUNT, "round of the scores (default: 1)")
    run = option(RUN_ID, "run with the scored replies (default: the last run)")
    replace, untrusted, allow_outside, store, profile, json = REPLACE, UNTRUSTED, READ_OUTSIDE, STORE, PROFILE, JSON


class ImportSamplesParameters(Parameters):
    """Options of `tripos import samples`."""

    file, column, set, each, mapping, rejected = FILE, COLUMN, SET, EACH, MAPPING, REJECTED
    skip_rejected = SKIP_REJECTED
    dry_run = DRY_RUN.but("show the rows to import, and write nothing")
    path = option(SPEC_PATH, "spec that the replies answer", written="spec", required=True)
    data = DATA
    model = option(text("NAME"), "model of the replies, if no column names it")
    role = repeated(text("NAME=MODEL"), "model of another role that replies; may be repeated")
    deny, allow_program, allow_unsandboxed, untrusted = DENY, ALLOW_PROGRAM, ALLOW_UNSANDBOXED, UNTRUSTED
    allow_outside, store, profile, json = READ_OUTSIDE, STORE, PROFILE, JSON


class ImportLogsParameters(Parameters):
    """Options of `tripos import logs`."""

    paths = several(SPEC_PATH, "a log, or a folder with logs", least=1)
    output = option(FOLDER, "folder of the specs and their items (default: imported)", short="o")
    name = option(text("NAME"), "name of the benchmark of all logs (default: the task of each log)")
    model = option(text("NAME"), "name of the model of all logs, as a run would name it")
    score = repeated(text("NAME=HERE"), "name of a score here, such as exact_match=match; may be repeated")
    replace = REPLACE
    dry_run = DRY_RUN.but("show what would be imported, and write no results")
    untrusted, allow_outside, store, profile, json = UNTRUSTED, READ_OUTSIDE, STORE, PROFILE, JSON


class ImportTreeParameters(Parameters):
    """Options of `tripos import tree`."""

    file = possible(
        FILE_PATH, "an outline: one point per line, indented, numbered or with bullets; `-` reads standard input"
    )
    output = option(OUTPUT_FILE, ".yaml or .json (default: YAML on standard output)", short="o")
    top = option(text("NAME"), "put everything below a branch of this name")
    run = option(RUN_ID, "instead of a file: the run with the drafts, or a prefix of its name; '' means the last run")
    step = option(text("NAME"), "with --run: the step whose replies are the outlines", needs=("run",))
    only = repeated(
        text("FIELD=VALUE"), "with --run: use only items with this value of a field; may be repeated", needs=("run",)
    )
    replace = REPLACE.but("overwrite an existing file")
    untrusted, allow_outside, store, profile = UNTRUSTED, READ_OUTSIDE, STORE, PROFILE


class ImportTaskParameters(Parameters):
    """Options of `tripos import task`."""

    file = argument(
        SPEC_PATH, "the YAML of a task of lm-eval, or a folder of them; of promptfoo; or a module of Inspect"
    )
    task = option(text("NAME"), "the task to import, of a folder or a module with several")
    output = option(FOLDER, "folder of the spec (default: the name of the task)", short="o")
    shots = option(whole(0), "number of worked examples (default: that of the task)")
    language = option(text("CODE"), "language of the texts (default: en)", default="en")
    run_python = flag("execute the Python of the task once, to write its rows; needs lm-eval or Inspect")
    python = option(
        SPEC_PATH,
        "with --run-python: the Python of the environment that has them (default: that of Tripos)",
        needs=("run_python",),
    )
    argument = repeated(text("NAME=VALUE"), "of Inspect: an argument of the task, as JSON or text; may be repeated")
    data = DATA.but("search this folder for data files, which tell the types of columns; may be repeated")
    replace = REPLACE.but("overwrite existing files")
    untrusted, allow_outside, json = UNTRUSTED, READ_OUTSIDE, JSON


class ImportDatasetParameters(Parameters):
    """Options of `tripos import dataset`."""

    source = argument(
        text("SOURCE"),
        ("a data file or a pattern; hf://OWNER/NAME[@REVISION][/PATH]; a database, as .sqlite, .db or .duckdb"),
    )
    name = option(text("NAME"), "name of the data set (default: that of the file)")
    path, data = IN_SPEC, DATA
    split = option(text("NAME"), "on the Hub: the files of this split or configuration")
    query = option(text("SQL"), "of a database: the rows (default: its only table)")
    output = option(OUTPUT_FILE, "of a database: file for the rows (default: NAME.jsonl beside the spec)", short="o")
    replace = REPLACE.but("overwrite an existing file")
    json = JSON.but("print the proposal as JSON")
    untrusted, allow_outside, allow_private, signed = UNTRUSTED, READ_OUTSIDE, ALLOW_PRIVATE, SIGNED


class ApproveParameters(Parameters):
    """Options of `tripos approve`."""

    file = FILE.but("the reviewed tree: `NAME.draft.yaml` or `.json`")
    name = option(text("NAME"), "name of the reviewer")
    replace = REPLACE.but("replace another tree of that name")
    json = JSON


class ExportParameters(Parameters):
    """Options of `tripos export`."""

    what = argument(
        text("KIND"),
        "the kind, or the name of an `export` of the spec",
    )
    run = RUN
    output = option(
        text("PATH", completes="file", place="written"),
        "the file, or the folder, to write",
        short="o",
    )
    spec = option(SPEC_PATH, "export pairs from the data of this spec, without a run")
    data = DATA.but("with --spec: search this folder for data too", needs=("spec",))
    untrusted = UNTRUSTED
    by = option(text("NAME"), "measure or score that ranks models, or replies")
    per = repeated(
        text("DIM[,DIM]"),
        "choose the best model in each of these: scenario, metric, an axis, an arm",
    )
    every = flag("export all replies of a model that is best in any cell, not only those of the cell")
    replies_of = repeated(
        text("RUN[,RUN]", completes="run"),
        "export replies of these runs, graded or not; RUN determines the best models",
    )
    margin = option(number(0, metavar="N"), "leave out pairs with a smaller difference (default: 0)")
    rows = repeated(text("STEP[,STEP]"), "export the replies of these asks (default: the scored ones)")
    line_format = option(choice("chat", "completion"), "set the format of a line (default: chat)", written="format")
    models = repeated(MODEL_NAMES, "export replies of these models only (default: all models under test)")
    scenario = SCENARIO.but("export replies of this scenario only; may be repeated")
    only = ONLY.but("export replies with this value of an axis or arm only; may be repeated")
    hold_out = repeated(
        text("NAME[,NAME]"),
        "leave out the items of these subsets (default: all of the spec's)",
    )
    apart_from = repeated(
        text("RUN[,RUN]", completes="run"),
        "leave out the items of these runs, which may be of other benchmarks",
    )
    table = repeated(
        text("NAME[,NAME]"), "export these tables: items, samples, scores, measures, notes (default: all but notes)"
    )
    raw = flag("write texts unchanged, also those that a spreadsheet takes for formulas")
    organization = option(text("NAME"), "organization that ran the benchmark")
    dataset = option(text("OWNER/NAME"), "data set of the benchmark on the Hub")
    source = option(text("URL"), "address where the results can be read")
    to = option(text("URL"), "endpoint of OTLP over HTTP")
    content = flag("write or send messages and replies of the models under test too")
    secrets = flag(
        "write secrets too, and the prompts and replies of other roles",
    )
    store, profile, json = STORE, PROFILE, JSON


class EmitParameters(Parameters):
    """Options of `tripos emit`."""

    form = argument(
        choice(of="tripos.exporting:EMITTERS", metavar="FORM"),
        "the form",
    )
    path = argument(text("SPEC"), "a spec, a folder with one, or a release")
    output = OUTPUT.but("the folder to write")
    data, untrusted, deny = DATA, UNTRUSTED, DENY
    json = JSON.but("print the files and what is lost as JSON")


class TrainSftParameters(Parameters):
    """Options of `tripos train sft`."""

    source = argument(FILE_PATH, "chats as JSON Lines, or a spec, for the export of its last run")
    model = option(text("NAME"), "a name of the Hub, a folder or a .gguf file", required=True)
    output = OUTPUT
    recipe = option(
        choice(of="tripos.training.recipe:RECIPES"), "use the recipe of this paper; other options override it"
    )
    epochs = option(number(0, metavar="N", above=True), "times through the data (default: 1)")
    max_steps = option(COUNT, "end after N steps")
    learning_rate = option(
        number(0, metavar="N", above=True), "highest learning rate (default: 2e-5, with --lora 2e-4)"
    )
    batch = option(COUNT, "chats in a step (default: 16)")
    at_once = option(COUNT, "chats that go through the model together (default: 8 on a GPU, 1 on a CPU)")
    max_tokens = option(COUNT, "leave out chats of more tokens (default: 2048)")
    warmup = option(number(0, 1, "SHARE"), "share of the steps in which the learning rate rises (default: 0.03)")
    weight_decay = option(number(0, 1, "N"), "decay of the weights (default: 0)")
    lora = option(
        whole(0, metavar="RANK"), "train adapters of this rank, and merge them, instead of all weights", default=0
    )
    held_out = option(number(0, 1, "SHARE"), "share of the items to hold out for the evaluation (default: 0.1)")
    seed = option(whole(), "seed of the split, the order and the adapters (default: 0)", default=0)
    device = DEVICE
    export = option(text("NAME"), "with a spec: use this export")
    run = option(RUN_ID, "with a spec: use this run (default: the last run)")
    data = DATA.but("with a spec: search this folder for data files too")
    deny, store, profile = DENY, STORE, PROFILE
    json = JSON.but("print the report as JSON")


class TrainRewardParameters(Parameters):
    """Options of `tripos train reward`."""

    source = argument(FILE_PATH, "pairs as JSON Lines, or a spec, for the pairs of its exports")
    export = repeated(
        text("NAME[,NAME]"),
        "with a spec: train on these exports (default: those for training, or all that are not tested)",
    )
    test = repeated(
        text("WHAT"),
        ("test on these pairs: a file, or exports of the spec (default: those for the test, or a fifth of the topics)"),
    )
    without = repeated(text("WHO[,WHO]"), "leave out pairs with a reply by these authors (see `by`)")
    output = OUTPUT
    model = option(
        text("NAME"),
        "base model: a name of the Hub or a folder (default: all-MiniLM-L6-v2, which comes with the extra)",
        default="all-MiniLM-L6-v2",
    )
    tune = option(
        choice("head", "criteria", "all"),
        "train a head on a frozen base, classifiers of criteria, or all weights (default: head)",
        default="head",
    )
    epochs = option(COUNT, "with --tune all: times through the data (default: 1)")
    learning_rate = option(number(0, metavar="N", above=True), "with --tune all: highest learning rate (default: 1e-5)")
    batch = option(COUNT, "with --tune all: pairs in a step (default: 16)")
    at_once = option(COUNT, "replies in a batch (default: 32)")
    context = option(whole(0), "tokens of context before a reply (default: as many as the base reads, up to 512)")
    max_tokens = option(COUNT, "tokens of a reply (default: 256)", default=256)
    marker = option(text("TEXT"), "text before the reply in a scored text (default: Teacher:)", default="Teacher:")
    no_margin = flag("ignore the margins of the pairs")
    held_out = option(number(0, 1, "SHARE"), "share of the topics that choose the recipe (default: 0.1)", default=0.1)
    seeds = option(COUNT, "trainings of each variant in the audit (default: 5)", default=5)
    shuffled = option(whole(0), "trainings on shuffled labels in the audit (default: 20)", default=20)
    seed = option(whole(), "seed of the final model (default: 0)", default=0)
    device = DEVICE
    data = DATA.but("with a spec: search this folder for data files too")
    deny = DENY
    json = JSON.but("print the report as JSON")


class ReleaseParameters(Parameters):
    """Options of `tripos release`."""

    path, data, releases, allow_outside, untrusted = PATH, DATA, RELEASES, ALLOW_OUTSIDE, UNTRUSTED
    allow_private, signed, deny, store, profile = ALLOW_PRIVATE, SIGNED, DENY, STORE, PROFILE
    to = option(FOLDER, "write NAME-VERSION to this folder (default: releases)", default="releases", keyword="to")
    parent = option(
        FOLDER,
        "the release that this one follows (default: the highest version of the benchmark in --to)",
        keyword="parent",
    )
    date = option(
        text("DAY"), "date of the release, as 2026-11-21 (default: SOURCE_DATE_EPOCH, or none)", keyword="day"
    )
    sign_key = option(
        FILE_PATH,
        "sign the release with this secret key of minisign or SSH; TRIPOS_KEY_PASSWORD has its password",
        keyword="sign_key",
    )
    artefact = repeated(
        text("ROLE=DIR|SHA256"),
        "reward model of a role: its folder, which is copied, or its SHA-256",
        keyword="artefacts",
    )
    zip = flag("write a zip file too, next to the folder", keyword="zip")
    push = option(
        text("URL"),
        "copy the release to this place too: s3://bucket/releases, file:///srv/releases, hf://OWNER/NAME",
        keyword="push",
    )
    json = JSON


class FetchParameters(Parameters):
    """Options of `tripos fetch`."""

    path = argument(
        text("URL|PATH", completes="spec"), "the URL of a release, or a spec, whose releases and data are fetched"
    )
    to = option(FOLDER, "keep them here (default: releases, beside the spec)")
    digest = option(text("SHA256"), "the digest that the release at the URL must have")
    allow_private, signed = ALLOW_PRIVATE, SIGNED
    data = DATA.but("look for data files here too")
    releases, untrusted = RELEASES, UNTRUSTED
    json = JSON.but("print what was fetched as JSON")


class VerifyParameters(Parameters):
    """Options of `tripos verify`."""

    path = possible(text("DIR", completes="folder"), "a release: its folder, its zip, or its URL")
    result = option(
        FILE_PATH, "verify this statement of `tripos attest` instead; with --store against the rows of the store"
    )
    store = STORE.but("with --result: the store that has the run", needs=("result",))
    profile = PROFILE
    data = DATA.but("search this folder for its data too")
    releases, untrusted, allow_private, signed = RELEASES, UNTRUSTED, ALLOW_PRIVATE, SIGNED
    artefact = repeated(
        text("ROLE=DIR"), "check this reward model against the digest in the release", keyword="artefacts"
    )
    digest = option(text("SHA256"), "require this digest, as it was cited", keyword="digest")
    key = option(
        text("KEY"), "require a signature by this public key of minisign or SSH: a file, or its content", keyword="key"
    )
    json = JSON.but("print the result as JSON")


class DiffParameters(Parameters):
    """Options of `tripos diff`."""

    before = argument(text("A", completes="spec"), "a spec, a release, a plan in JSON, or REVISION:PATH of git")
    after = argument(text("B", completes="spec"), "the later version, in the same form")
    data, releases, untrusted, allow_private, signed = DATA, RELEASES, UNTRUSTED, ALLOW_PRIVATE, SIGNED
    store = STORE.but("forecast what the next run asks with this store, as the last run of A was")
    model, role, profile = MODEL, ROLE, PROFILE
    format = option(
        choice("text", "json", "markdown", "github"),
        ("set the output format; github: a comment on a pull request, with the figures of --store before and after"),
        default="text",
    )
    json = JSON.but("print JSON, like --format json")


class PromoteParameters(Parameters):
    """Options of `tripos promote`."""

    run = RUN.but("a run, or a prefix of its name")
    board = option(text("NAME"), "the board, such as leaderboard", written="as")
    withdraw = flag("take the run off the board; the history stays")
    reason = option(text("TEXT"), "keep a reason with it")
    list = flag("list the runs of every board, or of --as, with the history")
    store, profile = STORE, PROFILE
    json = JSON.but("print JSON")


class AttestParameters(Parameters):
    """Options of `tripos attest`."""

    run, store, profile = RUN, STORE, PROFILE
    output = option(OUTPUT_FILE, "the file (default: BENCHMARK-RUN.result.json)", short="o")
    lock = option(FILE_PATH, "put the digest of this lock file into the statement")
    sign_key = option(
        FILE_PATH, "sign it with this secret key of minisign or SSH; TRIPOS_KEY_PASSWORD has its password"
    )
    json = JSON


class LockParameters(Parameters):
    """Options of `tripos lock`."""

    path, data, releases, allow_outside, untrusted = PATH, DATA, RELEASES, ALLOW_OUTSIDE, UNTRUSTED
    allow_private, signed, deny, model, role, store = ALLOW_PRIVATE, SIGNED, DENY, MODEL, ROLE, STORE
    profile = PROFILE
    output = option(OUTPUT_FILE, "the file to write (default: tripos.lock)", short="o", default="tripos.lock")
    json = JSON


class DoctorParameters(Parameters):
    """Options of `tripos doctor`."""

    model = MODEL.but("check this model; may be repeated (default: those of the settings)")
    role = ROLE.but("check the models of a role too; may be repeated")
    store, profile = STORE, PROFILE
    ask = flag("make one small call to each model, which may cost a little")
    json = JSON.but("print the checks as JSON")


class StoreGcParameters(Parameters):
    """Options of `tripos store gc`."""

    grace = option(
        duration(), "keep younger files: seconds, or a time such as 30m, 12h, 7d (default: 1h)", default=3600.0
    )
    dry_run = DRY_RUN.but("list the files to remove, and remove nothing")
    store, profile = STORE, PROFILE
    json = JSON.but("print what was removed as JSON")


class StoreCompactParameters(Parameters):
    """Options of `tripos store compact`."""

    store, profile = STORE, PROFILE
    json = JSON.but("print what was done as JSON")


class StoreMergeParameters(Parameters):
    """Options of `tripos store merge`."""

    stores = several(text("STORE"), "stores to read; they stay as they are", least=1)
    into = option(STORE_PLACE, "store that gets the results; made where it is not", required=True)
    json = JSON.but("print what was added as JSON")


class StoreMirrorParameters(Parameters):
    """Options of `tripos store mirror`."""

    iceberg = option(FOLDER, "folder for the metadata of Iceberg")
    delta = option(FOLDER, "folder for the metadata of Delta Lake")
    store, profile = STORE, PROFILE
    json = JSON.but("print what was done as JSON")
    _one_of = Alternatives((iceberg, delta), required=True)


class StoreCheckParameters(Parameters):
    """Options of `tripos store check`."""

    store, profile = STORE, PROFILE
    json = JSON.but("print what was found as JSON")


class StoreBatchesParameters(Parameters):
    """Options of `tripos store batches`."""

    give_up = option(text("BATCH"), "count this batch as lost: its requests are asked again, and may be paid for twice")
    store, profile = STORE, PROFILE
    json = JSON.but("print the batches as JSON")


class CompletionParameters(Parameters):
    """Options of `tripos completion`."""

    shell = argument(choice(of="tripos.cli.completion:SHELLS", metavar="SHELL"), "bash, zsh, fish or powershell")


class LspParameters(Parameters):
    """Options of `tripos lsp`."""

    stdio = flag("use standard input and output, which is also the default; some editors need the option")


class McpParameters(Parameters):
    """Options of `tripos mcp`."""

    folder = possible(FOLDER, "the folder of the benchmarks, which no tool leaves (default: the working directory)")
    data, store = DATA, STORE
    trusted = flag("trust the benchmarks: run their Python, and read tripos.toml and .env")
    allow_model = repeated(
        MODEL_NAMES, "let `run` ask this model too, within --budget; may be repeated", needs=("budget",)
    )
    budget = BUDGET.but("spend at most this amount in all runs of the server: 5usd, 200000tokens or 1000calls")


class Action(NamedTuple):
    """An action of a command, such as `tripos store gc`."""

    help: str
    parameters: type[Parameters]


PARAMETERS: dict[str, type[Parameters] | dict[str, Action]] = {
    "init": InitParameters,
    "new": NewParameters,
    "check": CheckParameters,
    "fmt": FmtParameters,
    "describe": DescribeParameters,
    "explain": ExplainParameters,
    "docs": DocsParameters,
    "plan": PlanParameters,
    "run": RunParameters,
    "teach": TeachParameters,
    "report": ReportParameters,
    "view": ViewParameters,
    "compare": CompareParameters,
    "leaderboard": LeaderboardParameters,
    "history": HistoryParameters,
    "judges": JudgesParameters,
    "plot": PlotParameters,
    "sql": SqlParameters,
    "list": ListParameters,
    "show": ShowParameters,
    "why": WhyParameters,
    "annotate": AnnotateParameters,
    "import": {
        "scores": Action("import scores of replies in the store, by people or other judges", ImportScoresParameters),
        "samples": Action("import replies to the items of a spec", ImportSamplesParameters),
        "logs": Action("import logs of other evaluation tools, as runs of a spec made of them", ImportLogsParameters),
        "tree": Action("make a tree from an outline, or from the drafts of a run", ImportTreeParameters),
        "task": Action("make a spec from a task of lm-eval, Inspect or promptfoo", ImportTaskParameters),
        "dataset": Action("propose a data set for rows of a file, the Hub or a database", ImportDatasetParameters),
    },
    "approve": ApproveParameters,
    "export": ExportParameters,
    "emit": EmitParameters,
    "train": {
        "sft": Action("train a model on the replies of chats (supervised fine-tuning)", TrainSftParameters),
        "reward": Action("train a reward model on pairs of a better and a worse reply", TrainRewardParameters),
    },
    "release": ReleaseParameters,
    "fetch": FetchParameters,
    "verify": VerifyParameters,
    "diff": DiffParameters,
    "promote": PromoteParameters,
    "attest": AttestParameters,
    "lock": LockParameters,
    "doctor": DoctorParameters,
    "store": {
        "gc": Action("remove files that are no longer used", StoreGcParameters),
        "compact": Action("merge small files, and remove duplicate rows", StoreCompactParameters),
        "merge": Action("add the results of other stores to one", StoreMergeParameters),
        "mirror": Action("let other engines read the store, through Iceberg or Delta Lake", StoreMirrorParameters),
        "check": Action("find damage, and show a digest of every table", StoreCheckParameters),
        "batches": Action("list batches that are under way at providers, or give one up", StoreBatchesParameters),
    },
    "completion": CompletionParameters,
    "lsp": LspParameters,
    "mcp": McpParameters,
}
"""The options of each command, or of each of its actions."""

OPTIONS: tuple[Option[Any], ...] = tuple(each for each in list(globals().values()) if isinstance(each, Option))
"""The options that have a name of their own here, among them every setting and variable."""
SETTINGS = {each.setting: each for each in OPTIONS if each.setting}
"""The options that are also settings, by the path of the setting."""
VARIABLES = {each.variable: each for each in OPTIONS if each.variable}
"""The options that are also environment variables, by the name of the variable."""


def all_options() -> Iterator[Option[Any]]:
    """Yield every option: those with a name of their own here, then those of commands."""
    yield from OPTIONS
    for parameters in PARAMETERS.values():
        actions = parameters.values() if isinstance(parameters, dict) else [Action("", parameters)]
        for action in actions:
            yield from action.parameters.options
