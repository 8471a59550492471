"""The picture of the lemma."""

from studies import lemma


def test_the_lemma_is_drawn() -> None:
    shares = {str(budget): [0.5, 0.3, 0.2] for budget in lemma.BUDGETS}
    measured = {"limits": {"dual": 0.1, "gradient": 0.2, "gap": 0.0}}
    figure = lemma.picture(
        {"a": {**measured, "shares": {"dual": shares, "gradient": shares}}}
    )
    assert len(figure.axes) == 2
