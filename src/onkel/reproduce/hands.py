"""Poker hands, dealt and named as those of the UCI repository are.

A row has suit (1 to 4) and rank (1, the ace, to 13) of five cards in the order in which
they were dealt; its label is the best that can be said of the hand. The repository's
test part, a million hands dealt at random, is not at hand; as the label is a function
of the cards, hands that are dealt here do as well. In its training part rare hands are
more frequent than chance has them.
"""

import numpy as np

from onkel.data.catalogue import load
from onkel.reproduce.online_data import OnlineData

SUITS, RANKS, CARDS = 4, 13, 5
ACE, TEN = 1, 10
DEALT = 1_000_000  # rows of the repository's test part


def deal(count: int, seed: int = 0) -> np.ndarray:
    """Return hands of five different cards, all orders being as likely.

    Examples
    --------
    >>> from onkel.reproduce.hands import deal
    >>> deal(3).shape
    (3, 10)
    """
    rng = np.random.default_rng(seed)
    cards = rng.integers(SUITS * RANKS, size=(count, CARDS))
    while len(twice := np.flatnonzero(_has_a_card_twice(cards))):
        cards[twice] = rng.integers(SUITS * RANKS, size=(len(twice), CARDS))
    suits, ranks = np.divmod(cards, RANKS)
    hands = np.stack([suits + 1, ranks + 1], axis=2).reshape(count, 2 * CARDS)
    return hands.astype(np.float64)


def _has_a_card_twice(cards: np.ndarray) -> np.ndarray:
    return (np.diff(np.sort(cards, axis=1), axis=1) == 0).any(axis=1)


def named(hands: np.ndarray) -> np.ndarray:
    """Return the labels of hands: 0, nothing, to 9, a royal flush.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel.reproduce.hands import named
    >>> named(np.array([[1, 2, 2, 2, 3, 2, 4, 9, 1, 9]])).tolist()  # a full house
    [6]
    """
    suits, ranks = hands[:, ::2], hands[:, 1::2]
    alike = np.stack([(ranks == rank).sum(axis=1) for rank in range(1, RANKS + 1)])
    most, pairs = alike.max(axis=0), (alike == 2).sum(axis=0)
    is_flush = (suits == suits[:, :1]).all(axis=1)
    is_high = (most == 1) & np.isin(ranks, (ACE, *range(TEN, RANKS + 1))).all(axis=1)
    is_straight = is_high | ((most == 1) & (np.ptp(ranks, axis=1) == CARDS - 1))
    return np.select(
        [
            is_high & is_flush,
            is_straight & is_flush,
            most == 4,
            (most == 3) & (pairs == 1),
            is_flush,
            is_straight,
            most == 3,
            pairs == 2,
            pairs == 1,
        ],
        range(9, 0, -1),
        default=0,
    )


def poker(name: str = "poker") -> OnlineData:
    """Return the repository's training part, and dealt hands in place of its test part.

    Nothing is scaled. The name is that of the catalogue.
    """
    X, y = load(name, dtype=np.float64)
    dealt = deal(DEALT)
    rows = np.vstack([X.toarray(), dealt])
    labels = np.concatenate([y.astype(int), named(dealt)])
    return OnlineData(name, rows, labels, False, len(y))
