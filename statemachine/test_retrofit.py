"""Plays the state machine of a retrofit with functions that only pretend.

It knows the states, JSONata and retries that retrofit.asl.json uses, no more, and neither waits nor runs anything at once.
Needs `jsonata-python`. Run: python -m unittest discover -s statemachine
"""

import json
import pathlib
import unittest

import jsonata

from runtime import Failed

MACHINE = json.loads(pathlib.Path(__file__).with_name("retrofit.asl.json").read_text().replace("${Retrofit}", "auditV2"))
STEPS_MAX = 20_000


def value_of(template, states, variables):
    """A template with its expressions replaced by their values."""
    if isinstance(template, dict):
        return {name: value_of(part, states, variables) for name, part in template.items()}
    if isinstance(template, list):
        return [value_of(part, states, variables) for part in template]
    if not (isinstance(template, str) and template.startswith("{%")):
        return template
    expression = jsonata.Jsonata(template[2:-2].strip())
    expression.assign("states", states)
    for name, value in variables.items():
        expression.assign(name, value)
    value = expression.evaluate(None)
    if value is None:
        raise Failed("States.QueryEvaluationError", template)
    return json.loads(json.dumps(value))


class Player:
    def __init__(self, call):
        self.call, self.steps, self.trace, self.retried = call, 0, [], 0
        self.failures = []

    def run(self, machine, given):
        states, name, variables = machine["States"], machine["StartAt"], {}
        while True:
            self.steps += 1
            if self.steps > STEPS_MAX:
                raise Failed("StepsMax")
            state = states[name]
            self.trace.append(name)
            kind = state["Type"]
            if kind == "Succeed":
                return given
            if kind == "Fail":
                raise Failed(state["Error"], value_of(state.get("Cause", ""), {"input": given}, variables))
            at = {"input": given}
            if kind == "Choice":
                for choice in state["Choices"]:
                    if value_of(choice["Condition"], at, variables) is True:
                        variables.update(value_of(choice.get("Assign", {}), at, variables))
                        name = choice["Next"]
                        break
                else:
                    name = state["Default"]
                continue
            if kind == "Task":
                try:
                    at["result"] = self.task(state, value_of(state["Arguments"], at, variables))
                except Failed as failed:
                    catch = next((c for c in state.get("Catch", []) if failed.error in c["ErrorEquals"]), None)
                    if catch is None:
                        raise
                    variables.update(value_of(catch["Assign"], at, variables))
                    given, name = value_of(catch["Output"], at, variables), catch["Next"]
                    continue
            if kind == "Map":
                at["result"] = self.map(state, at, variables)
            assigned = value_of(state.get("Assign", {}), at, variables)
            given = value_of(state["Output"], at, variables) if "Output" in state else at.get("result", given)
            variables.update(assigned)
            if state.get("End"):
                return given
            name = state["Next"]

    def task(self, state, arguments):
        attempts = {}
        while True:
            try:
                return self.call(state["Resource"], arguments)
            except Failed as failed:
                rules = enumerate(state.get("Retry", []))
                matches = lambda rule: {failed.error, "States.ALL"} & set(rule["ErrorEquals"])
                at, rule = next(((at, rule) for at, rule in rules if matches(rule)), (None, {"MaxAttempts": 0}))
                attempts[at] = attempts.get(at, 0) + 1
                if attempts[at] > rule["MaxAttempts"]:
                    raise
                self.retried += 1

    def map(self, state, at, variables):
        value_of(state["MaxConcurrency"], at, variables)
        results = []
        for index, item in enumerate(value_of(state["Items"], at, variables)):
            context = {"Map": {"Item": {"Index": index, "Value": item}}, "Execution": {"Id": "run-1"}}
            context = {**at, "context": context}
            child = value_of(state["ItemSelector"], context, variables)
            try:
                results.append(self.run(state["ItemProcessor"], child))
            except Failed as failed:
                # All that AWS says of it in the run itself. The child keeps its input and its error: `keyfold retrofit status`.
                self.failures.append((child, failed.error, failed.cause))
                raise Failed("States.ExceedToleratedFailureThreshold") from failed
        return results


class World:
    """Functions that need three slices for each segment."""

    def __init__(self, slices=3, differences=0, mapping="Enabled", lag=("OK",), fails=(), held_up=False, operated=()):
        self.operated = list(operated)
        self.slices, self.differences, self.mapping, self.held_up = slices, differences, mapping, held_up
        self.lag, self.fails, self.calls, self.set_aside = list(lag), list(fails), [], None

    def __call__(self, resource, arguments):
        if resource.endswith("getEventSourceMapping"):
            return {"State": self.mapping}
        if resource.endswith("describeAlarms"):
            state = self.lag.pop(0) if len(self.lag) > 1 else self.lag[0]
            return {"MetricAlarms": [{"StateValue": state}]}
        if resource.endswith("listObjectsV2"):
            return {"KeyCount": 0} if self.set_aside is None else {"Contents": [{"Key": key, "Size": 1} for key in self.set_aside]}
        which, event = arguments["FunctionName"].strip("${}"), arguments["Payload"]
        if self.fails:
            failure = self.fails.pop(0)
            if failure:
                raise Failed(failure)
        self.calls.append((which, event))
        if which == "OperatorArn":
            return {"Payload": self.operated.pop(0)}
        if which == "ReplicatorArn":
            return {"Payload": {"batchItemFailures": []}}
        if event.get("dryRun"):
            return {"Payload": {"retrofit": event["retrofit"], "items": 7}}
        slice_ = int(event.get("checkpoint", "0")) + 1
        counts = {"items": 10 * slice_}
        if which == "VerifierArn":
            differs = self.differences if event["segment"] == 0 and event["side"] == "source" else 0
            counts |= {"same": 10 * slice_ - differs, "missing": differs}
        answer = {"done": slice_ >= self.slices, "checkpoint": str(slice_), "counts": counts}
        return {"Payload": answer | ({"heldUp": "throttled"} if self.held_up and slice_ == 1 else {})}


def play(world, **given):
    player = Player(world)
    return player, player.run(MACHINE, {"retrofit": "auditV2", "segments": 4, **given})


class Retrofit(unittest.TestCase):
    def test_every_segment_goes_to_its_end_and_is_compared_on_both_sides(self):
        world = World()
        _, report = play(world)
        self.assertEqual((report["carried"], report["compared"], report["clean"]), (120, 240, True))
        done = {
            (which, event.get("side"), event["segment"])
            for which, event in world.calls
            if event.get("checkpoint") == "2"
        }
        backfilled = {("BackfillerArn", None, segment) for segment in range(4)}
        compared = {("VerifierArn", side, segment) for side in ("source", "target") for segment in range(4)}
        self.assertEqual(done, backfilled | compared)

    def test_a_slice_that_was_held_up_pauses_and_goes_on(self):
        player, report = play(World(held_up=True))
        self.assertEqual((player.trace.count("Pause"), report["carried"], report["clean"]), (12, 120, True))

    def test_an_empty_source_is_no_failure_and_one_worker_holds_all_leases(self):
        world = World(fails=["Keyfold.NothingToJudgeBy"])
        _, report = play(world)
        self.assertEqual((report["estimate"], report["clean"]), ({}, True))
        self.assertEqual({event["worker"] for _, event in world.calls}, {"run-1"})
        self.assertEqual(play(World())[1]["estimate"]["items"], 7)

    def test_in_place_there_is_one_side(self):
        world = World()
        _, report = play(world, sides=["source"])
        self.assertEqual((report["compared"], report["clean"]), (120, True))
        self.assertEqual({event["side"] for which, event in world.calls if which == "VerifierArn"}, {"source"})

    def test_one_segment_is_enough(self):
        _, report = play(World(), segments=1)
        self.assertEqual((report["carried"], report["compared"]), (30, 60))

    def test_the_rate_is_shared_and_a_first_slice_has_no_checkpoint(self):
        world = World()
        play(world, rate=100, concurrency=2)
        slices = [event for which, event in world.calls if which == "BackfillerArn" and "dryRun" not in event]
        self.assertEqual({event["rate"] for event in slices}, {50})
        self.assertEqual(sum("checkpoint" not in event for event in slices), 4)

    def test_differences_fail_the_run_and_are_told(self):
        with self.assertRaises(Failed) as raised:
            play(World(differences=2))
        self.assertEqual(raised.exception.error, "Keyfold.Differences")
        self.assertIn("2 items", raised.exception.cause)

    def test_nothing_is_compared_before_the_stream_is_drained(self):
        player, _ = play(World(lag=["ALARM"] * 9 + ["OK"]))
        self.assertEqual(player.trace.count("Drain"), 9)
        self.assertLess(max(at for at, name in enumerate(player.trace) if name == "Drain"), player.trace.index("Verify"))

    def test_a_stream_that_is_never_drained_ends_the_run(self):
        with self.assertRaises(Failed) as raised:
            play(World(lag=["ALARM"]))
        self.assertEqual(raised.exception.error, "Keyfold.NotDrained")

    def test_nothing_begins_while_nobody_follows_the_stream(self):
        world = World(mapping="Disabled")
        with self.assertRaises(Failed) as raised:
            play(world)
        self.assertEqual(raised.exception.error, "Keyfold.StreamNotFollowed")
        self.assertTrue(all(event.get("dryRun") for _, event in world.calls))
        play(world, stream=False)

    def test_what_may_pass_is_tried_again_and_what_cannot_is_not(self):
        player, _ = play(World(fails=[None] + ["Keyfold.Throttled"] * 20))
        self.assertEqual(player.retried, 20)
        for error in ("Keyfold.MappingChanged", "Keyfold.UnknownRetrofit", "Keyfold.CheckpointOfAnother"):
            player = Player(World(fails=[None, error]))
            with self.assertRaises(Failed) as raised:
                player.run(MACHINE, {"retrofit": "auditV2", "segments": 4})
            self.assertEqual(raised.exception.error, "States.ExceedToleratedFailureThreshold")
            self.assertEqual(([failed for _, failed, _ in player.failures], player.retried), ([error], 0))

    def test_a_segment_that_never_ends_is_given_up(self):
        player = Player(World(slices=10**6))
        with self.assertRaises(Failed):
            player.run(MACHINE, {"retrofit": "auditV2", "segments": 4})
        self.assertEqual([error for _, error, _ in player.failures], ["Keyfold.TooManySlices"])

    def test_a_child_that_failed_says_which_segment_it_was_and_why(self):
        for fails, side in ((1, None), (1 + 4 * 3 + 1, "source")):
            player = Player(World(fails=[None] * fails + ["Keyfold.AccessDenied"]))
            with self.assertRaises(Failed) as raised:
                player.run(MACHINE, {"retrofit": "auditV2", "segments": 4})
            self.assertEqual(raised.exception.error, "States.ExceedToleratedFailureThreshold")
            (child, error, _), = player.failures
            self.assertEqual((error, child["event"]["totalSegments"], child["event"].get("side")), ("Keyfold.AccessDenied", 4, side))
            self.assertIn(child["event"]["segment"], range(4))

    def test_a_redrive_goes_on_with_the_slice_that_failed(self):
        # A redrive begins at the state that failed. Where a Catch leads away from a slice, that would be another one.
        for name in ("Backfill", "Verify"):
            machine = MACHINE["States"][name]
            self.assertNotIn("Catch", machine)
            self.assertTrue(all("Catch" not in state for state in machine["ItemProcessor"]["States"].values()))

    def test_bad_input_is_refused_before_anything_is_called(self):
        for given in ({"segments": 0}, {"segments": 10001}, {"segments": "4"}, {"segments": 1.5}, {"retrofit": 4}, {"retrofit": "other"}, {"repair": "false"}, {"stream": "false"},
                      {"concurrency": 0}, {"concurrency": "9"}, {"rate": "fast"}, {"sides": ["both"]}):
            world = World()
            with self.assertRaises(Failed) as raised:
                play(world, **given)
            self.assertEqual((raised.exception.error, world.calls), ("Keyfold.BadInput", []))

    def operates(self, operated, differences=0, fails=(), **operation):
        """The commands that the operator got, one for each invocation, and how the run ended."""
        world = World(operated=operated, differences=differences, fails=fails)
        player = Player(world)
        end = player.run(MACHINE, {"retrofit": "auditV2", "operation": operation})
        return [event["operation"]["command"] for which, event in world.calls if which == "OperatorArn"], player.trace, end

    def test_a_switch_is_prepared_and_compared_while_writers_go_on_and_then_moves_them(self):
        more, done = {"done": False}, {"done": True, "success": True, "compared": False}
        asked, trace, end = self.operates([more, done, more, done], command="switch", writers="policy", exempt=["arn"])
        self.assertEqual(asked, ["tidy", "tidy", "switch", "switch"])
        self.assertLess(trace.index("Verify"), trace.index("Operate"))
        self.assertTrue(end["success"])
        # A comparison that still counts is not repeated.
        asked, trace, _ = self.operates([{**done, "compared": True}, done], command="switch", writers="attested")
        self.assertEqual((asked, "Verify" in trace), (["tidy", "switch"], False))
        # An invocation that dies is repeated: the next one goes on by the retrofit's row.
        self.assertEqual(self.operates([done, done], fails=["Sandbox.Timedout"], command="switch", back=True)[0], ["switch"])

    def test_batches_that_were_set_aside_are_noted_before_anything_else(self):
        done = {"done": True, "success": True}
        for keys in (["a/one"], ["a/one", "a/two"]):
            for given in ({"segments": 2}, {"operation": {"command": "finish"}}):
                world = World(operated=[done])
                world.set_aside = keys
                Player(world).run(MACHINE, {"retrofit": "auditV2", **given})
                noted = [event["detail"]["object"]["key"] for which, event in world.calls if which == "ReplicatorArn"]
                first = [which for which, event in world.calls if "dryRun" not in event][: len(keys)]
                self.assertEqual((noted, first), (keys, ["ReplicatorArn"] * len(keys)))

    def test_a_batch_that_cannot_be_noted_ends_the_run(self):
        world = World(fails=[None, "Keyfold.AccessDenied"])
        world.set_aside = ["a/one"]
        with self.assertRaises(Failed):
            play(world)
        self.assertEqual([which for which, _ in world.calls], ["BackfillerArn"])

    def test_a_move_back_and_an_end_are_not_prepared(self):
        done = {"done": True, "success": True}
        self.assertEqual(self.operates([done], command="switch", back=True)[0], ["switch"])
        self.assertEqual(self.operates([done], command="switch", takeBack=True)[0], ["switch"])
        self.assertEqual(self.operates([done], command="finish")[0], ["finish"])

    def test_an_operation_that_fails_says_how_it_ended(self):
        said = {"done": True, "success": False, "text": "the limit of 120 s is over; table `old` is open"}
        for operated in ([said], [{"done": True, "success": True, "compared": True}, said]):
            with self.assertRaises(Failed) as raised:
                self.operates(list(operated), command="switch", writers="policy")
            self.assertEqual((raised.exception.error, raised.exception.cause), ("Keyfold.OperationFailed", said["text"]))
        with self.assertRaises(Failed) as raised:
            self.operates([{"done": True, "success": True, "compared": False}], differences=2, command="switch", writers="policy")
        self.assertEqual(raised.exception.error, "Keyfold.Differences")
        for wrong in ("switch", {"command": "run"}, {"command": "tidy"}):
            with self.assertRaises(Failed) as raised:
                play(World(), operation=wrong)
            self.assertEqual(raised.exception.error, "Keyfold.BadInput")

    def test_every_name_that_a_state_goes_to_is_there(self):
        def check(machine):
            names = set(machine["States"])
            for state in machine["States"].values():
                targets = [state.get("Next"), state.get("Default")] + [c["Next"] for c in state.get("Choices", [])]
                self.assertLessEqual({target for target in targets if target}, names)
                if "ItemProcessor" in state:
                    check(state["ItemProcessor"])

        check(MACHINE)


if __name__ == "__main__":
    unittest.main()
