#!/usr/bin/env python3
"""Messy data through both kinds of retrofit, as an operator has it: live writers, signals, `kill -9`, items that do not fit.

Usage: python3 tests/messy/scenario.py FOLDER, which has `keyfold` and the functions. Standard library only. KEYFOLD_SEED repeats the
choices of a run as far as the machine allows, KEYFOLD_ITEMS sets how many items there are.

Nothing here asks Keyfold what is right. The writers note what they wrote (`items.py`), `keys.py` says what becomes of each item by
docs/key-format.md, and `compare` holds source, target and quarantine against that, item by item.
"""

import collections
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
import tomllib

import items
from keys import Misfit, Retrofit
from programs import MANIFEST, Killer, Programs, Slices

ITEMS = int(os.environ.get("KEYFOLD_ITEMS", 20_000))
SHARE = 0.06
PORT = 8767
SETTLE_SECONDS = 90
WRITE_SECONDS = 6
# So slow, in units a second, that a signal meets a backfill at work.
RATE = str(max(ITEMS * 2 // 5, 50))
OWN = ("keyfold_fence", "keyfold_tombstone", "keyfold_source", "keyfold_removing", "keyfold_place")
# A process that is killed keeps its lease for a while: another one with its name goes on at once.
WORK = ("--segments", "4", "--worker", "operator")
# No faster than the machine.
FAST = ("--rate", "1000000")
KINDS = {*(f"command by {which}" for which in ("SIGINT", "SIGTERM", "SIGKILL")), *(f"{name} by SIGKILL" for name in ("replicator", "backfiller", "verifier"))}
SAY = time.monotonic()


def say(what):
    print(f"{time.monotonic() - SAY:6.1f} s  {what}", flush=True)


def same(value):
    """A value so that equal ones are equal: a set has no order, a number many texts."""
    if isinstance(value, dict):
        return {name: sorted(held) if name in ("SS", "NS", "BS") else same(held) for name, held in value.items()}
    return value


class Expected:
    """What a retrofit should have made of what the writers wrote."""

    def __init__(self, retrofit, truth):
        self.fits, self.misfits, claims = {}, {}, collections.defaultdict(list)
        for one, natural in truth.items():
            if natural is None:
                continue
            try:
                self.fits[one] = item = retrofit.of(natural)
                claims[retrofit.key(item)].append(one)
            except Misfit as misfit:
                self.misfits[one] = misfit.why
        # Of those that claim one key, any one may have it.
        self.rivals = [ids for ids in claims.values() if len(ids) > 1]
        # Items whose key is held by an item that no longer fits.
        self.waiting = []

    def by_reason(self):
        count = collections.Counter(self.misfits.values())
        collided = sum(len(ids) - 1 for ids in self.rivals) + len(self.waiting)
        return count + collections.Counter({(None, "collides", None): collided})


def reasons(report):
    return collections.Counter({(one["attribute"], one["reason"], one["index"]): one["items"] for one in report["misfits"]})


class Scene:
    def __init__(self, programs, seed):
        self.programs, self.seed, self.dice = programs, seed, random.Random(seed)
        self.manifest, self.truth, self.writes = tomllib.loads(MANIFEST.read_text()), {}, 0

    def retrofit(self, name):
        return Retrofit(self.manifest, name)

    def load(self, table, count, first):
        self.truth[table] = items.messy(count, SHARE, first, self.dice)
        self.programs.dynamo.load(f"messy-{table}", self.truth[table].values())

    def differences(self, name, final=False, turned=False, mended=True):
        """Every difference, by ids. `final`: nothing of the retrofit is left. `turned`: the target is the truth, the source follows."""
        retrofit, dynamo = self.retrofit(name), self.programs.dynamo
        truth = self.truth["live" if retrofit.in_place else "old"]
        expected, found = Expected(retrofit, truth), []
        folded = {key[0] for key in retrofit.target.folded} if retrofit.in_place else set()

        def natural(item):
            return same({name: value for name, value in item.items() if name not in folded and not (turned and name in OWN)})

        source = {item["id"]["S"]: natural(item) for item in dynamo.items(retrofit.source.name) if not (turned and "keyfold_tombstone" in item)}
        wanted = {one: same(item) for one, item in truth.items() if item is not None}
        found += [f"source: {one}" for one in source.keys() | wanted.keys() if source.get(one) != wanted.get(one)]

        entries = set() if final else {entry["key"]["id"]["S"] if entry["key"] else entry["row"] for entry in self.programs.keyfold("quarantine", name)["entries"]}
        out, target = expected.misfits.keys() | set(), collections.defaultdict(list)
        for item in dynamo.items(retrofit.target.name):
            if final:
                found += [f"a mark is left on {item}" for mark in OWN if mark in item]
            elif "keyfold_tombstone" in item:
                continue
            target[item["id"]["S"] if "id" in item else str(item)].append(same({name: value for name, value in item.items() if name not in OWN}))
        for ids in expected.rivals:
            there = [one for one in ids if one in target]
            out.update(one for one in ids if one not in there)
            if len(there) != 1:
                found.append(f"{len(there)} of {ids} have the key that all of them claim")
        # An item that no longer fits may be there as it last fitted, and in quarantine; another item that claims its key waits.
        held = {retrofit.key(item) for one in expected.misfits.keys() & target.keys() for item in target[one]}
        expected.waiting = [one for one in expected.fits.keys() - out if one not in target and retrofit.key(expected.fits[one]) in held]
        out.update(expected.waiting)
        for one in expected.fits.keys() - out:
            if target.get(one) != [same(expected.fits[one])]:
                found.append(f"target: {one}: {target.get(one)} instead of {expected.fits[one]}")
        found += [f"extra: {one}" for one in target if one not in expected.fits and one not in expected.misfits]
        found += [f"in quarantine: {one}" for one in entries - out] + [f"not in quarantine: {one}" for one in out - entries]
        if mended and out:
            found.append(f"{len(out)} items do not fit still")
        return found, expected

    def agrees(self, name, **how):
        """Waits until there is no difference, as long as the replicator may take."""
        until = time.monotonic() + SETTLE_SECONDS
        while True:
            found, expected = self.differences(name, **how)
            if not found:
                return expected
            assert time.monotonic() < until, f"{name}: {len(found)} differences\n" + "\n".join(found[:10])
            if not how.get("mended", True):
                # An entry stays until a repair looks at its item again.
                self.programs.keyfold("run", name, "--repair", "--lag", "0", *FAST, codes=(0, 1))
            time.sleep(0.5)

    def planned(self, name):
        """A full plan says what does not fit, and finds every collision, before anything is written."""
        retrofit = self.retrofit(name)
        expected = Expected(retrofit, self.truth["live" if retrofit.in_place else "old"])
        plan = self.programs.keyfold("plan", name, "--full", *FAST)
        assert reasons(plan) == expected.by_reason(), f"{name}: the plan says {reasons(plan) - expected.by_reason()}, and not {expected.by_reason() - reasons(plan)}"
        assert plan["items"] == len(expected.fits) + len(expected.misfits) and plan["refused"] == sum(expected.by_reason().values()), plan
        say(f"{name}: plan --full finds {plan['refused']} misfits among {plan['items']} items: " + "; ".join(
            f"{items} {attribute or '-'} {reason}" for (attribute, reason, _), items in sorted(reasons(plan).items(), key=str)))

    def backfilled(self, name):
        """By the command, ended by every signal on the way."""
        words, hits = ("run", name, "--until", "backfill", *WORK), 0
        for which in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            hits += self.programs.interrupted(which, *words, "--rate", RATE)
        report = self.programs.keyfold(*words, *FAST)
        status = self.programs.keyfold("status", name)
        assert status["segmentsDone"] == status["segments"] > 0, status
        say(f"{name}: backfill ended by {hits} signals, then done: {report.get('backfill', {}).get('counts')}")

    def mended(self, table, *names):
        """Somebody corrects what does not fit, in the source."""
        truth, number = self.truth[table], 0
        for name in names:
            expected = Expected(self.retrofit(name), truth)
            for one in [*expected.misfits, *(one for ids in expected.rivals for one in ids[1:])]:
                truth[one] = item = items.clean(int(one[1:]), self.dice)
                self.programs.dynamo("PutItem", TableName=f"messy-{table}", Item=item)
                number += 1
        # A corrected item can claim the key of another one: its own timestamp.
        left = sum(len(ids) - 1 for name in names for ids in Expected(self.retrofit(name), truth).rivals)
        return number + self.mended(table, *names) if left else number

    def repaired(self, *names):
        for name in names:
            self.programs.keyfold("run", name, "--repair", "--lag", "0", *FAST, codes=(0, 1))
            self.agrees(name)
            self.programs.keyfold("run", name, *FAST)
            gates = [gate["code"] for gate in self.programs.keyfold("status", name)["gates"]]
            until = time.monotonic() + SETTLE_SECONDS
            while "still-at-work" in gates and time.monotonic() < until:
                time.sleep(1)
                gates = [gate["code"] for gate in self.programs.keyfold("status", name)["gates"]]
            assert set(gates) <= {"tombstones"}, gates

    def live(self, table, seconds, *works):
        """Does the work while writers write and replicators are killed."""
        writers, killer = items.Writers(self.programs.dynamo, f"messy-{table}", self.truth[table], self.seed % 5 + len(self.truth)), Killer(self.programs)
        try:
            for work in works:
                work()
            time.sleep(seconds)
        finally:
            killer.end()
            self.writes += writers.end()

    def in_place(self):
        self.planned("filled")
        self.programs.keyfold("run", "filled", "--until", "start")
        self.live("live", 1, lambda: self.backfilled("filled"))
        expected = self.agrees("filled", mended=False)
        self.reported("filled", expected)
        say(f"filled: {self.mended('live', 'filled')} items corrected")
        self.repaired("filled")
        self.programs.keyfold("switch", "filled")
        self.programs.keyfold("finish", "filled")
        self.agrees("filled", final=True)
        say(f"filled: finished; all of {len(self.truth['live'])} items agree")

    def reported(self, name, expected):
        report = reasons(self.programs.keyfold("quarantine", name))
        assert report == expected.by_reason(), f"{name}: the quarantine says {report - expected.by_reason()}, and not {expected.by_reason() - report}"
        say(f"{name}: {sum(report.values())} in quarantine, as they should be, for {len(report)} reasons")

    def elsewhere(self):
        for name in ("moved", "rekeyed"):
            self.planned(name)
            self.programs.keyfold("run", name, "--until", "start")
        by_function = lambda: Slices(self.programs, "backfiller").run("rekeyed", 3, kills=6, rate=int(RATE))
        verified = lambda: Slices(self.programs, "verifier").run("rekeyed", 2, kills=3, side="source", lagSeconds=0, rate=1_000_000)
        self.live("old", 1, lambda: self.backfilled("moved"), by_function, verified)
        for name in ("moved", "rekeyed"):
            self.reported(name, self.agrees(name, mended=False))
        say(f"moved, rekeyed: {self.mended('old', 'moved', 'rekeyed')} items corrected")
        self.repaired("moved", "rekeyed")
        self.programs.keyfold("switch", "rekeyed", "--writers", "attested", "--for-good")
        self.programs.keyfold("finish", "rekeyed")
        self.agrees("rekeyed", final=True)
        say("rekeyed: finished; all items agree")

    def switched(self):
        """The target is tidied while writers go on; then they move to it, and the source follows."""
        words = ("switch", "moved")
        by = lambda which: lambda: self.programs.interrupted(which, *words, ends=1)
        # It ends where the writers have to be stopped, or finds differences too.
        self.live("old", 1, by(signal.SIGKILL), by(signal.SIGTERM), lambda: self.programs.keyfold(*words, codes=(1,)))
        assert self.programs.keyfold("status", "moved")["phase"] == "tidy"
        self.mended("old", "moved")
        self.repaired("moved")
        assert not [item for item in self.programs.dynamo.items("messy-new") if "keyfold_tombstone" in item], "a tombstone is left"
        paused = time.monotonic()
        self.programs.keyfold("switch", "moved", "--writers", "attested")
        say(f"moved: switched; nobody could write for {time.monotonic() - paused:.1f} s")
        killer = Killer(self.programs)
        writers = items.Writers(self.programs.dynamo, "messy-new", self.truth["old"], 9, fold=self.retrofit("moved").of)
        time.sleep(WRITE_SECONDS / 2)
        killer.end()
        self.writes += writers.end()
        self.agrees("moved", turned=True)
        self.programs.keyfold("finish", "moved")
        self.agrees("moved", turned=True, final=True)
        say(f"moved: finished; all of {len(self.truth['old'])} items agree, on both sides")


def main(folder):
    seed = int(os.environ.get("KEYFOLD_SEED", random.randrange(10**6)))
    say(f"KEYFOLD_SEED={seed} KEYFOLD_ITEMS={ITEMS}")
    with tempfile.TemporaryDirectory() as temporary, open(f"{temporary}/log", "w+") as log:
        programs = Programs(folder, log, PORT, seed)
        try:
            scene = Scene(programs, seed)
            scene.load("live", ITEMS * 2 // 5, 0)
            scene.load("old", ITEMS - ITEMS * 2 // 5, 100_000)
            say(f"{ITEMS} items in two tables")
            for part in (scene.in_place, scene.elsewhere, scene.switched):
                part()
            # With few items, a command can be done before its signal.
            assert ITEMS < 10_000 or KINDS <= programs.killed.keys(), f"not all were met at work: {programs.killed}"
            killed = ", ".join(f"{count} x {what}" for what, count in sorted(programs.killed.items()))
            say(f"{scene.writes} writes of live writers meanwhile; killed: {killed}")
        except BaseException:
            log.seek(0)
            print(log.read()[-3000:], file=sys.stderr)
            raise
        finally:
            programs.end()


main(pathlib.Path(sys.argv[1]).resolve())
