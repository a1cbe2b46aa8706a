"""Contract of the shim with slime, on a CPU and without slime: its structures as its sources describe them (624b824)."""

import dataclasses
import importlib.util
import os
import sys
import tempfile
import threading
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent.parent))

from tadpole_slime import one_shot, rollout  # noqa: E402
from tadpole_slime.batch import read_rows  # noqa: E402
from tadpole_slime.samples import BatchError, Row, samples  # noqa: E402

# slime/utils/types.py, class Sample
FIELDS = {
    *("group_index", "index", "rollout_id", "prompt", "tokens", "response", "response_length", "label", "reward", "loss_mask"),
    *("weight_versions", "rollout_log_probs", "remove_sample", "status", "metadata", "spec_info", "prefix_cache_info"),
}
STATUSES = {"pending", "completed", "truncated", "aborted", "failed"}


def row(name="r", tokens=(5, 6, 7, 8, 9), trainable=(0, 0, 1, 0, 1), advantage=2.0, raw=1):
    logprobs = [-0.5 * (at + 1) if flag else 0.0 for at, flag in enumerate(trainable)]
    return Row("g", name, advantage, float(raw), raw, list(tokens), list(trainable), logprobs)


def slime_loss(made, ratio):
    """slime/backends/megatron_utils/loss.py with --calculate-per-token-loss: the sum over trainable tokens by its own count of them."""
    tokens = sum(max(1, sum(each["loss_mask"])) for each in made)
    total = sum(each["reward"] * ratio(t) * flag for each in made for t, flag in zip(response(each), each["loss_mask"], strict=True))
    return -total / tokens


def response(each):
    return each["tokens"][-each["response_length"] :]


class Samples(unittest.TestCase):
    def test_have_the_fields_of_slime_and_a_status_it_knows(self):
        for each in samples([row()], 2):
            self.assertEqual(set(each), FIELDS)
            self.assertIn(each["status"], STATUSES)

    def test_split_tokens_into_prompt_and_response_with_mask_and_log_probs_of_the_response(self):
        (made,) = samples([row()], 1)
        self.assertEqual(made["tokens"], [5, 6, 7, 8, 9])
        self.assertEqual(made["response_length"], 3)
        self.assertEqual(made["loss_mask"], [1, 0, 1])
        self.assertEqual(made["rollout_log_probs"], [-1.5, 0.0, -2.5])

    def test_carry_our_advantage_as_reward_and_the_verdict_beside_it(self):
        (made,) = samples([row(advantage=-0.25, raw=0)], 1)
        self.assertEqual(made["reward"], -0.25)
        self.assertEqual(made["metadata"]["raw_reward"], 0.0)

    def test_are_exactly_as_many_as_a_step_has_each_a_rollout_of_its_own(self):
        made = samples([row("a"), row("b")], 5)
        self.assertEqual([each["rollout_id"] for each in made], [0, 1, 2, 3, 4])
        self.assertEqual([each["metadata"]["padding"] for each in made], [False, False, True, True, True])

    def test_padding_trains_no_token_and_still_has_what_every_sample_needs(self):
        padded = samples([row()], 2)[1]
        self.assertEqual(sum(padded["loss_mask"]), 0)
        self.assertEqual(padded["reward"], 0.0)
        self.assertEqual(len(padded["loss_mask"]), padded["response_length"])
        self.assertEqual(len(padded["rollout_log_probs"]), padded["response_length"])
        self.assertGreater(padded["response_length"], 0)

    def test_padding_and_rows_without_trainable_tokens_leave_the_loss_as_it_is(self):
        rows = [row("a", advantage=1.5), row("b", advantage=-1.0), row("c", trainable=(0, 0, 0, 0, 0))]
        trained = sum(sum(each.trainable) for each in rows)
        ratio = lambda token: 1 + token / 100  # noqa: E731
        kept = [(each.advantage * ratio(t)) for each in rows for t, flag in zip(each.tokens, each.trainable, strict=True) if flag]
        ours = -sum(kept) / trained
        for size in (3, 4, 9):
            self.assertAlmostEqual(slime_loss(samples(rows, size), ratio), ours, places=12)

    def test_of_an_empty_batch_of_too_many_rows_or_of_nothing_to_train_are_refused(self):
        for rows, size in (([], 4), ([row(), row()], 1), ([row(trainable=(0, 0, 0, 0, 0))], 1)):
            with self.assertRaises(BatchError):
                samples(rows, size)

    def test_need_a_prompt(self):
        with self.assertRaisesRegex(BatchError, "expected a prompt"):
            samples([row(trainable=(1, 1, 1, 1, 1))], 1)


class OneShot(unittest.TestCase):
    def test_writes_what_load_debug_rollout_data_reads_whole(self):
        saved = {}

        def save(value, path):
            saved["value"] = value
            Path(path).write_text("saved")

        with tempfile.TemporaryDirectory() as folder:
            file = one_shot.write([row()], 7, 2, Path(folder), save)
            self.assertEqual(os.listdir(folder), ["7.pt"])
            self.assertEqual(file.read_text(), "saved")
        self.assertEqual(saved["value"]["rollout_id"], 7)
        self.assertEqual(len(saved["value"]["samples"]), 2)


class Resident(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_waits_for_the_batch_and_says_which_one_is_wanted(self):
        def arrive():
            (self.folder / "3.arrow.partial").write_text("x")
            os.replace(self.folder / "3.arrow.partial", self.folder / "3.arrow")

        timer = threading.Timer(0.05, arrive)
        timer.start()
        self.assertEqual(rollout.wait_for(self.folder, 3, 0.01), self.folder / "3.arrow")
        timer.join()
        self.assertEqual((self.folder / "wanted").read_text(), "3\n")

    def test_serves_the_same_batch_again_to_a_job_that_died_before_it_saved(self):
        (self.folder / "3.arrow").write_text("x")
        self.assertEqual(rollout.wait_for(self.folder, 3), rollout.wait_for(self.folder, 3))

    def test_ends_in_order_where_no_batch_will_come(self):
        (self.folder / "stop").write_text("")
        with self.assertRaises(SystemExit):
            rollout.wait_for(self.folder, 4, 0.01)

    def test_gives_slime_its_own_structures(self):
        sample = dataclasses.make_dataclass("Sample", [(name, object, None) for name in sorted(FIELDS)])
        sample.from_dict = staticmethod(lambda value: sample(**value))
        output = dataclasses.make_dataclass("RolloutFnTrainOutput", [("samples", list), ("metrics", dict, None)])
        modules = {
            "slime": types.ModuleType("slime"),
            "slime.rollout": types.ModuleType("slime.rollout"),
            "slime.rollout.base_types": types.SimpleNamespace(RolloutFnTrainOutput=output),
            "slime.utils": types.ModuleType("slime.utils"),
            "slime.utils.types": types.SimpleNamespace(Sample=sample),
        }
        (self.folder / "0.arrow").write_text("x")
        with (
            mock.patch.dict(sys.modules, modules),
            mock.patch.dict(os.environ, {rollout.FOLDER_VARIABLE: str(self.folder)}),
            mock.patch.object(rollout, "read_rows", lambda file: [row()]),
        ):
            made = rollout.generate(types.SimpleNamespace(global_batch_size=2), 0, None)
        self.assertEqual([len(prompt) for prompt in made.samples], [1, 1])
        self.assertEqual(made.samples[0][0].loss_mask, [1, 0, 1])

    def test_evaluates_nothing(self):
        with self.assertRaisesRegex(RuntimeError, "evaluated by Tadpole"):
            rollout.generate(None, 0, None, evaluation=True)


@unittest.skipUnless(importlib.util.find_spec("pyarrow") and os.environ.get("TADPOLE_BATCH"), "no pyarrow here, or no batch")
class Batch(unittest.TestCase):
    def test_is_read_as_it_was_written(self):
        rows = read_rows(Path(os.environ["TADPOLE_BATCH"]))
        self.assertEqual([each.rollout for each in rows], ["rollout-0", "rollout-1", "rollout-2", "rollout-3"])
        self.assertEqual(len(samples(rows, 6)), 6)


if __name__ == "__main__":
    unittest.main()
