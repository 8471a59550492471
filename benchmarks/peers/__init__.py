"""Ours beside those of others: packages that one installs, programs that one builds.

    python -m benchmarks.peers --output docs
    python -m benchmarks.peers --peer kol=../KOL --peer bsca=../BudgetedSdualSVM

Every contestant has one thread and a process of its own, which tells its memory. Each
of ours and those that stand against it take turns, so that a slow minute of the machine
meets all of them.
"""
