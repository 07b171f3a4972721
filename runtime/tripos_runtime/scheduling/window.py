"""The congestion window of an endpoint: how many calls it gets at a time.

An endpoint refuses a call by status 429, by a timeout, or by frequent server errors. Some endpoints refuse what is
beyond a number of calls at a time or in a time; others refuse a share of the calls whatever the load. Only the first
kind is helped by fewer calls. So a cut of the window is a trial: if the smaller window has the same share of refusals,
they do not depend on the load, and the window gets its size back. The trial is Wald's sequential test (Sequential tests
of statistical hypotheses, 1945)."""

from __future__ import annotations

import math

from tripos_compiler.source.data_classes import dataclass

START = 16
"""The number of concurrent calls at the start."""
FASTER = 3
"""The growth factor per round at the start. With 2, 20,000 calls at 512 concurrent ones take an eighth longer than
necessary; with 3, a fourteenth."""
SLOWER = 0.05
"""The growth per round after a cut, as a share of the size, and of at least one call."""
SAWTOOTH = 4
"""The number of rounds without a refusal after which the growth doubles with each: the endpoint bears more by now."""
MARGIN = 0.9
"""The size after a cut, as a share of the size at which the endpoint would have refused nothing."""
FEW = 8
"""The number of results in a round with refusals, at least."""
SURPRISE = 2.5
"""The number of standard errors that the refusals of a round lie above their usual share, when the window is cut."""
DECISIVE = math.log(10)
"""The log-likelihood ratio at which a trial is decided."""
MOST_USUAL = 0.7
"""The largest share of refusals that is taken for independent of the load."""
RARE = 0.01
"""The least share of refusals that a trial expects. It expects half the square of the share before the cut, too: that
share, of few results, may be wrong."""
RECENT = 100
"""The number of results over which the usual share of refusals is averaged."""
STUMBLE = 0.2
"""The share of server errors among the last calls that counts as overload; fewer are accidents."""
MEMORY = 0.9
"""The weight of the earlier calls in an exponential average; the last call has the rest."""
USUAL_S = 1.0
"""The time of a reply, in seconds, until one has come."""
LONGEST_GAP_S = 120.0
"""The longest time between two replies that the pauses follow, in seconds: a pause takes at most half as long."""


@dataclass
class _Trial:
    """The trial of a cut. `by_load` and `anyway` are the shares of refusals that the smaller window has if refusals
    depend on the load, and if they do not."""

    size: float
    """The size before the cut."""
    by_load: float
    anyway: float
    results: int
    """The number of results before and after the cut."""
    refused: int
    evidence: float = 0.0
    """The log-likelihood ratio; above 0, refusals do not depend on the load."""

    def add(self, refused: bool) -> None:
        self.results += 1
        self.refused += refused
        ratio = self.anyway / self.by_load if refused else (1.0 - self.anyway) / (1.0 - self.by_load)
        self.evidence += math.log(ratio)


class Window:
    """The window: `allowed` concurrent calls now, at most `most`.

    A round is as many results as there are calls at a time. After a round with no more refusals than usual the window
    grows: threefold at the start, and after a cut by a twentieth. After a round with more, it is cut to nine tenths of
    the part that the endpoint accepted. Results of calls that were sent before the last cut do not count: each call has
    the `epoch` in which it was sent. Below one call at a time, `pause_s` says how long the endpoint gets none.

    >>> window = Window(most=64)
    >>> for _ in range(16):  # a round
    ...     window.accepted(window.epoch, busy=16, took_s=1.0)
    >>> window.allowed
    48
    >>> for number in range(48):
    ...     if number < 24:
    ...         window.accepted(window.epoch, busy=48, took_s=1.0)
    ...     else:
    ...         window.refused(window.epoch, busy=48)
    >>> window.allowed, window.epoch
    (22, 1)
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.allowed = min(START, most)
        self.epoch = 0
        self._size = float(self.allowed)
        self._threshold = float(most)
        """The size up to which the window multiplies."""
        self._usual = 0.0
        """The share of refusals that does not depend on the load."""
        self._proved = 0.0
        """The usual share of refusals by the last trial, which no other rounds raise."""
        self._recent_results = self._recent_refusals = 0.0
        """The results of the last rounds, and the refusals among them; earlier rounds weigh less."""
        self._trial: _Trial | None = None
        self._deferred = False
        """True if the endpoint has said when to go on, and no round has ended since."""
        self._all_refused = False
        """True if the last round had refusals only."""
        self._latency_s: float | None = None
        self._error_share = 0.0
        """The average share of server errors among the last calls."""
        self._rounds_unrefused = 0
        """The number of rounds without a refusal since the last one."""
        self._since_s = 0.0
        """The time since the last reply, where calls come one at a time with pauses."""
        self._results = self._refused = self._peak = 0
        """The results of this round, the refusals among them, and the largest number of slots in use."""

    def accepted(self, epoch: int, busy: int, took_s: float) -> None:
        """Record a reply. `busy` is the number of slots in use, with its own, and `took_s` the time of the call."""
        last_s = took_s if self._latency_s is None else self._latency_s
        self._latency_s = MEMORY * last_s + (1.0 - MEMORY) * took_s
        self._error_share *= MEMORY
        self._count(epoch, busy, refused=False)

    def refused(self, epoch: int, busy: int) -> None:
        """Record a refusal."""
        self._count(epoch, busy, refused=True)

    def deferred(self, epoch: int) -> bool:
        """Record a refusal that says when the endpoint accepts calls again. Return true if it does not count: the first
        ones are obeyed, and no more; the window is only cut if refusals go on then."""
        if epoch == self.epoch and not self._deferred:
            self._deferred = True
            self.epoch += 1
            self._begin_round()
            return True
        return epoch != self.epoch

    def unanswered(self, *, timed_out: bool) -> bool:
        """Record a call without an answer. Return true if it counts as a refusal: a timeout does, and frequent server
        errors do. Less than one call at a time is no help against either."""
        if not timed_out:
            self._error_share = self._error_share * MEMORY + 1.0 - MEMORY
        return self.allowed > 1 and (timed_out or self._error_share > STUMBLE)

    def pause_s(self, epoch: int, took_s: float, *, refused: bool) -> float:
        """Return how long the slot of a call stays closed after the call. The slot of a refused call is closed as long
        as a reply would have taken, as a server that refuses at once would get a flood of calls otherwise."""
        if self.paced and epoch == self.epoch:
            return self._pace(took_s, refused)
        return max(0.0, self._reply_s - took_s) if refused else 0.0

    def restart(self) -> None:
        """Restart with one call after a silence, and grow fast up to half of the last size."""
        self._threshold = max(1.0, self._size / 2)
        self._error_share = 0.0
        self._trial = None
        self.epoch += 1
        self._resize(1.0)

    def _count(self, epoch: int, busy: int, *, refused: bool) -> None:
        if epoch != self.epoch:
            return
        if self.paced:
            return
        if self._trial is not None:
            self._trial.add(refused)
            self._judge(self._trial)
            return
        self._results += 1
        self._refused += refused
        self._peak = max(self._peak, min(busy, self.allowed))
        least = FEW if self._refused else FEW // 2 if self._size >= self._threshold else 0
        if self._results >= max(self._peak, least):
            self._end_round()

    @property
    def paced(self) -> bool:
        """True if the endpoint gets less than one call at a time."""
        return self._size < 1.0

    @property
    def _reply_s(self) -> float:
        """The usual time of a reply."""
        return USUAL_S if self._latency_s is None else self._latency_s

    def _pace(self, took_s: float, refused: bool) -> float:
        """Return the pause after a call where the endpoint gets less than one call at a time: half the time between the
        last two replies after a reply, and a quarter after a refusal."""
        gap_s = self._reply_s / self._size
        if refused:
            pause_s = max(0.0, gap_s / 4 - took_s)
            self._since_s += took_s + pause_s
            gap_s = max(gap_s, self._since_s)
        else:
            since_s = self._since_s or gap_s
            gap_s = min(since_s, gap_s / 4) if self._all_refused else since_s
            self._all_refused = False
            pause_s = max(0.0, gap_s / 2 - took_s)
            self._since_s = took_s + pause_s
        self._resize(max(self._reply_s, 1e-9) / max(min(gap_s, LONGEST_GAP_S), self._reply_s, 1e-9))
        return pause_s

    def _end_round(self) -> None:
        results, refused = self._results, self._refused
        self._recent_results = MEMORY * self._recent_results + results
        self._recent_refusals = MEMORY * self._recent_refusals + refused
        if self._exceeds(results, refused) or self._exceeds(self._recent_results, self._recent_refusals):
            self._cut(results, refused)
            return
        usual = self._usual + (refused / results - self._usual) * results / (results + RECENT)
        self._usual = min(usual, self._proved)
        self._deferred = self._all_refused = False
        self._rounds_unrefused = 0 if refused else self._rounds_unrefused + 1
        size = self._size
        if 2 * self._peak >= self.allowed:  # an unfilled window is no evidence for a larger one
            step = max(size * SLOWER, min(1.0, size / 4)) * 2 ** max(self._rounds_unrefused - SAWTOOTH, 0)
            fast = size < self._threshold
            size = min(size * FASTER, self._threshold) if fast else min(size + step, size * FASTER)
        self._resize(size)

    def _exceeds(self, results: float, refused: float) -> bool:
        """Return true if there are more refusals among these results than usual."""
        return refused > results * self._usual + SURPRISE * math.sqrt(results * self._usual * (1.0 - self._usual))

    def _cut(self, results: int, refused: int) -> None:
        """Cut the window after a round, and begin the trial of the cut."""
        size, share = self._size, refused / results
        self._rounds_unrefused = 0
        self._recent_results = self._recent_refusals = 0.0
        self.epoch += 1
        if refused == results:  # a smaller window would show nothing: find out when the endpoint accepts calls again
            if not self._all_refused:
                self._threshold = max(1.0, self._peak / 2)
            self._all_refused = True
            self._resize(max(self._peak / 4, 1.0 if self._peak > 1 else 0.0))
            return
        accepted = self._peak * (1.0 - share)
        peak = self._peak
        self._resize(max(MARGIN * accepted / (1.0 - self._usual), 1.0 if peak > 1 else 0.0))
        by_load = max(RARE, share**2 / 2, self._usual, 1.0 - accepted / self.allowed)
        if self._size >= 1.0 and by_load < share <= MOST_USUAL:
            self._trial = _Trial(size, by_load, share, results, refused)
        else:
            self._usual = self._proved = 0.0
            if peak > 1:
                self._threshold = max(1.0, peak / 2)

    def _judge(self, trial: _Trial) -> None:
        """End a trial if it is decided."""
        if abs(trial.evidence) < DECISIVE:
            return
        self._trial = None
        if trial.evidence > 0:
            self._usual = self._proved = trial.refused / trial.results
            self._threshold = float(self.most)
            self._resize(trial.size)
        else:
            self._proved = self._usual
            self._threshold = self._size
            self._begin_round()

    def _resize(self, size: float) -> None:
        if size < 1.0 <= self._size:
            self._since_s = 0.0
        self._size = min(size, float(self.most))
        self.allowed = max(1, round(self._size))
        self._begin_round()

    def _begin_round(self) -> None:
        self._results = self._refused = self._peak = 0
