r"""MLPT′ with three levels: its stability region, exactly.

Work that does not fit stays in level 3, so stability is decided where level 3 is never empty.  Then no cost of level 3
is waived, and that of level 2 only if levels 1 and 2 hold no other job.  Each time levels 1 and 2 are empty a last
piece begins, with its cost, and the jobs that arrive in it begin a busy period of levels 1 and 2.  In it the recursion
of `mlptsym.symbolic.mean.lazy` holds with the piece of level 2 in place of the last one, as its length does not depend
on whether its cost is waived.
"""

from __future__ import annotations

import sympy as sp

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, restore_cost, service
from mlptsym.symbolic.mean.lazy import CYCLE, Arrivals, alone, first_alone, quiet, waived_after, waived_recursion
from mlptsym.symbolic.mean.waiting import linear_root
from mlptsym.symbolic.model.moments import Indicator, expectation, tail
from mlptsym.symbolic.model.transforms import transform
from mlptsym.symbolic.policies.algorithm import boundaries, effective_load, piece, work_through

_POINTS = boundaries(1, 2)


def _arrivals(work: sp.Expr, level: int) -> Arrivals:
    """In a piece that begins at t_level, given that there is one."""
    event, reached = Indicator(service, attained(level)), tail(attained(level))
    at = (arrival_rate * (1 - quiet), arrival_rate)
    return Arrivals(*(transform(work, rate, _POINTS, event=event) / reached for rate in at))


@cached
def saturated_alone() -> sp.Expr:
    """e_1, the probability that a job demoted from level 1 finds levels 1 and 2 empty while level 3 never is."""
    second, third = piece(2), piece(3, last=True)
    free, charged, last = (
        _arrivals(work, level) for work, level in ((second.subs(restore_cost(1), 0), 1), (second, 1), (third, 2))
    )
    quiet_last, single_last = sp.symbols("a_3 b_3", nonnegative=True)
    waived = waived_recursion(quiet_last, CYCLE.first * single_last, *waived_after())
    paid = arrival_rate * restore_cost(1) * tail(attained(1))
    busy = arrival_rate * expectation(work_through(2, 3), _POINTS) - paid * alone
    length = expectation(third, _POINTS) / tail(attained(2))
    balance = arrival_rate * tail(attained(1)) * alone * length - (1 - busy) * waived
    known = {
        CYCLE.first: first_alone(),
        CYCLE.quiet_free: free.quiet,
        CYCLE.single_free: free.single,
        CYCLE.quiet_charged: charged.quiet,
        CYCLE.single_charged: charged.single,
        quiet_last: last.quiet,
        single_last: last.single,
    }
    return linear_root(balance, alone).xreplace(known)


def saturated_load() -> sp.Expr:
    """ρ_3′ of three levels, with e for e_1: what the server is asked for while level 3 is never empty."""
    return effective_load(3) - arrival_rate * restore_cost(1) * tail(attained(1)) * alone
