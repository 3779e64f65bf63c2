"""Mean response time of MLPT: theorem 4.5 for any whole number of levels, and its steps from one level to the next.

`mean_response_time` is the theorem for a given k and general boundaries t_1 < … < t_{k−1}.  The other functions give
the same sum one level at a time, for a symbolic level: they are what the numeric code evaluates over arrays of
levels.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, level, restore_cost, service
from mlptsym.symbolic.mean.waiting import delay_with_new_arrivals, linear_root, waiting_time, work_balance
from mlptsym.symbolic.model.moments import Indicator, UpperMoment, expectation, mean, tail
from mlptsym.symbolic.policies.algorithm import boundaries, completion_probability, effective_size, piece
from mlptsym.symbolic.policies.discipline import DISCIPLINES, RESTORING, Discipline


def fcfs_response_time() -> sp.Expr:
    """Pollaczek–Khinchine mean response time of FCFS: Algorithm 1 with one level."""
    return mean_response_time(1)


@cached
def mean_response_time(levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """E[T] of MLPT with ``levels`` levels at boundaries t_1 < … < t_{k−1}, eqs. (26)–(28).

    The wait d_j and the job's own pieces, S_k^eff in all, follow each other, whatever the discipline.

    Examples
    --------
    >>> from mlptsym.symbolic.algebra.symbols import arrival_rate
    >>> pollaczek_khinchine = mean() + arrival_rate * mean(order=2) / (2 * (1 - arrival_rate * mean()))
    >>> sp.simplify(mean_response_time(1) - pollaczek_khinchine)
    0
    """
    total = expectation(effective_size(levels, discipline), boundaries(1, levels - 1))
    for index in range(1, levels + 1):
        total += completion_probability(index, last=index == levels) * waiting_time(index, levels, discipline)
    return total


@dataclass(frozen=True)
class LevelTerms:
    """What one level contributes, in M_n at its two ends t_{r−1}, t_r, its restore cost c_{r−1} and a_{r−1}."""

    probability: sp.Expr  # p_r, the probability to complete here
    # E[Y_r] and E[Y_r²]
    piece_mean: sp.Expr
    piece_square: sp.Expr
    served_mean: sp.Expr  # E[min(S, t_r)]
    completed_service: sp.Expr  # E[S ; complete here]


@cached
def level_terms(index: sp.Expr, *, last: bool = False, discipline: Discipline = RESTORING) -> LevelTerms:
    """`LevelTerms` of level ``index``, which may be symbolic; ``last`` for the level that runs to completion."""
    start, end = attained(index - 1), attained(index, last=last)
    points = [point for point in (start, end) if point is not sp.oo and not point.is_zero]
    here = piece(index, last=last, discipline=discipline)
    return LevelTerms(
        probability=completion_probability(index, last=last),
        piece_mean=expectation(here, points),
        piece_square=expectation(here**2, points),
        served_mean=mean() if last else expectation(sp.Min(service, end), [end]),
        completed_service=UpperMoment(1, start) - UpperMoment(1, end),
    )


@dataclass(frozen=True)
class CarriedSums:
    """The two sums over levels of theorem 4.5, summed by parts so that no step is a difference of large terms.

    With D_r = E[(S − t_r)⁺] and h_r the part of a piece in level r before its service, the numeric code carries

    - U_j = Σ_{r≤j} a_{r−1} E[Y_r] + a_j D_j,
    - V_j = Σ_{r≤j} E[Y_r²] − E[min(S, t_j)²] + 2 (h_{j+1} − t_j) D_j,

    which contain M_0 and D at the boundaries only, and takes the added terms off again where it needs the sums
    themselves.
    """

    excess: sp.Symbol  # D at the end of the level
    before: sp.Symbol  # a_{J}, service and costs before level J + 1
    # U_{J+1} − U_J and V_{J+1} − V_J
    crossing_step: sp.Expr
    square_step: sp.Expr
    # Σ_{r≤J+1} a_{r−1} E[Y_r] − U_{J+1} and Σ_{r≤J+1} E[Y_r²] − V_{J+1}
    crossing_end: sp.Expr
    square_end: sp.Expr


def carried_sums(*, last: bool = False, discipline: Discipline = RESTORING) -> CarriedSums:
    """`CarriedSums` of the step from level J to J + 1, which for ``last`` runs to completion (t_{J+1} = ∞, D = 0)."""
    index = level + 1
    terms = level_terms(index, last=last, discipline=discipline)
    start, end = attained(level), attained(index)
    ahead, ahead_next = discipline.before_service(index), discipline.before_service(index + 1)
    excess_start, excess, before = sp.symbols("D_start D_end a_before", nonnegative=True)
    square_start = expectation(sp.Min(service, start) ** 2, [start])
    if last:
        excess_end, square_end, crossing_added, square_added = sp.S.Zero, mean(order=2), sp.S.Zero, sp.S.Zero
    else:
        excess_end, square_end = excess, expectation(sp.Min(service, end) ** 2, [end])
        crossing_added = (before + discipline.passed(index)) * excess_end
        square_added = 2 * (ahead_next - end) * excess_end

    def in_excess(expression: sp.Expr) -> sp.Expr:
        known = {
            UpperMoment(1, start): excess_start + start * tail(start),
            UpperMoment(1, end): excess_end + end * tail(end),
        }
        return sp.collect(sp.expand(expression.subs(known)), [excess_start, excess, tail(start), tail(end)])

    crossing = before * terms.piece_mean
    crossing_step = in_excess(crossing + crossing_added - before * excess_start)
    squares = terms.piece_square - (square_end - square_start)
    square_step = in_excess(squares + square_added - 2 * (ahead - start) * excess_start)
    return CarriedSums(excess, before, crossing_step, square_step, -crossing_added, square_end - square_added)


@dataclass(frozen=True)
class ResponseTerms:
    """The waiting time of one level as the sum over levels needs it.

    With the carried sums (all symbols of this class) of work_before = E[X_{j−1}], work = E[X_j], before = a_{j−1},
    squares = Σ_r E[Y_r²] over all levels and crossings = Σ_{r≤j} a_{r−1} E[Y_r]:
    """

    work_before: sp.Symbol
    work: sp.Symbol
    before: sp.Symbol
    squares: sp.Symbol
    crossings: sp.Symbol
    waiting: sp.Expr  # d_j
    # The same split as squares · weight + offset, so that one pass over the levels suffices though squares is known
    # only at its end
    weight: sp.Expr
    offset: sp.Expr


def response_terms() -> ResponseTerms:
    """`ResponseTerms`, from the balance of work and the busy period of new arrivals.

    E[X_j²] = Σ_{r≤j} E[Y_r²] + 2 Σ_{r≤j} a_{r−1} E[Y_r], since a job in level r has received exactly a_{r−1} before,
    so the squares the balance asks for, E[X_j²] + Σ_{r>j} E[Y_r²], are those of all levels and the crossings through
    j.
    """
    work_before, work, before, squares, crossings = sp.symbols("X_before X a_before Y2 Z", nonnegative=True)
    wait = sp.Dummy("d_J", positive=True)
    merged = linear_root(work_balance(wait, work, squares + 2 * crossings, sp.S.Zero), wait)
    waiting = delay_with_new_arrivals(merged, before, work_before)
    weight = sp.factor(sp.diff(waiting, squares))
    offset = sp.factor(waiting.subs(squares, 0))
    return ResponseTerms(work_before, work, before, squares, crossings, waiting, weight, offset)


def pollaczek_khinchine_formula() -> Formula:
    """E[T] of FCFS from λ, E[S] and E[S²]."""
    inputs = {"arrival_rate": arrival_rate, "mean": mean(), "second": mean(order=2)}
    return Formula(inputs, {"response_time": fcfs_response_time()})


def level_costs_formula(discipline: str) -> Formula:
    """What a discipline's costs add to the pieces of a level, from their values at its two ends.

    ``mean`` is what they add to E[Y], ``ahead`` what precedes the service of a job, and ``gone_on`` all that a job pays
    that goes on to the next level.
    """
    name, index = DISCIPLINES[discipline], level + 1
    start, end = attained(level), attained(index)
    served = (sp.Min(service, end) - start) * Indicator(service, start)
    inputs = {
        "tail_start": tail(start),
        "tail_end": tail(end),
        **name.costs_at(level, "start"),
        **name.costs_at(index, "end"),
    }
    outputs = {
        "mean": sp.expand(expectation(name.piece(index) - served, [start, end])),
        "ahead": name.before_service(index),
        "gone_on": sp.expand(name.passed(index) - end + start),
    }
    return Formula(inputs, outputs)


def level_formula(discipline: str) -> Formula:
    """What a level contributes, and the steps of the carried sums, from its two ends.

    A level that serves to completion is one at whose end nothing is left: tail, first moment and excess are zero, and
    then its end does not matter.
    """
    start, end, name = attained(level), attained(level + 1), DISCIPLINES[discipline]
    terms, carried = level_terms(level + 1, discipline=name), carried_sums(discipline=name)
    inputs = {
        "tail_start": tail(start),
        "tail_end": tail(end),
        "first_end": UpperMoment(1, end),
        "mean": mean(),
        "start": start,
        "end": end,
        **name.costs_at(level, "start"),
        **name.costs_at(level + 1, "end"),
        "before": carried.before,
        "excess": carried.excess,
    }
    outputs = {
        "probability": terms.probability,
        "served_mean": terms.served_mean,
        "crossing_step": carried.crossing_step,
        "square_step": carried.square_step,
        "crossing_end": carried.crossing_end,
    }
    return Formula(inputs, outputs, frozenset({"mean"}))


def completed_formula() -> Formula:
    """E[S ; complete in the level]."""
    terms = level_terms(level + 1)
    inputs = {"first_start": UpperMoment(1, attained(level)), "first_end": UpperMoment(1, attained(level + 1))}
    return Formula(inputs, {"completed_service": terms.completed_service})


def square_end_formula() -> Formula:
    """What makes Σ E[Y_r²] of the sum carried through the levels, from their end."""
    end, carried = attained(level + 1), carried_sums()
    inputs = {
        "tail_end": tail(end),
        "second_end": UpperMoment(2, end),
        "second": mean(order=2),
        "end": end,
        "cost_end": restore_cost(level + 1),
        "excess": carried.excess,
    }
    return Formula(inputs, {"square_end": carried.square_end}, frozenset({"second"}))


def waiting_formula() -> Formula:
    """The two parts of d_j = squares · weight + offset."""
    terms = response_terms()
    inputs = {
        "arrival_rate": arrival_rate,
        "work_before": terms.work_before,
        "work": terms.work,
        "before": terms.before,
        "crossings": terms.crossings,
    }
    return Formula(inputs, {"weight": terms.weight, "offset": terms.offset}, frozenset({"arrival_rate"}))
