import json

import numpy as np
import pandas as pd
import pytest

from benchmark_utils.analysis.frames import labels
from benchmark_utils.analysis.searches import (
    algorithms,
    gap_of,
    optimism_of,
    optimism_table,
    per_run,
    ranking_notes,
    ranking_of,
    ranking_table,
    reported_and_true,
    runs,
    winners,
    winners_table,
)

NAN = float("nan")
FAILED = None
AT = ("gaussian", "as configured")

# Scores of the configurations 0, 1, 2 of svm, on one split of four seeds; all fits of seed 3 fail.
#         validation      test            benchmark
SVM = {
    0: (([.5, .6, .7], [.6, .5, .8], [.55, .65, .60]),),
    1: (([.7, .6, .6], [.5, .7, .7], [.50, .70, .65]),),
    2: (([.4, .5, .3], [.4, .5, .9], [.40, .52, .80]),),
    3: (FAILED,),
}
# Chosen at budgets 1, 2, 3, and the test score of the choice:
#   seed    val-tuned              test-tuned             gaps
#   0       0 1 2    .6 .5 .8      0 0 2    .6 .6 .8      0  .1  0
#   1       0 0 0    .5 .5 .5      0 1 1    .5 .7 .7      0  .2  .2
#   2       0 1 1    .4 .5 .5      0 1 2    .4 .5 .9      0  0   .4

# The same for two configurations of ridge; gaps after both: .05, 0, .01.
RIDGE = {
    0: (([.9, .8], [.70, .75], [.70, .71]),),
    1: (([.8, .9], [.72, .74], [.70, .71]),),
    2: (([.5, .6], [.71, .70], [.70, .71]),),
}
COLUMN = {"val": 0, "test": 1, "benchmark": 2, "default": 1}


def search_rows(rule, table, n_configs=None, search="random", solver="svm", inner_folds=5,
                refits=None, **parameters):
    """Rows of one search as Benchopt saves them.

    Parameters
    ----------
    table : dict, seed -> per split, None where all fails or the scores of the configurations:
        three lists, by which `val`, `test` and `benchmark` choose
    refits : dict, seed -> lists by budget of the reported and true scores, the best true score
        and the choice of a predictor refitted on the study set
    """
    rows = []
    size = max(len(s[0]) for splits in table.values() for s in splits if s is not FAILED)
    n_configs = n_configs or size
    described = {"tuning": rule, "n_configs": n_configs, "search": search,
                 "inner_folds": inner_folds, **parameters}
    name = ",".join(f"{k}={v}" for k, v in sorted(described.items()))
    meta = {
        "dataset_name": "gaussian[labels=signal]", "p_dataset_labels": "signal",
        "objective_name": "Score trust[n_splits=1]", "p_obj_n_splits": 1,
        "p_obj_procedure": "mccv",
        "solver_name": f"{solver}[{name}]",
        **{f"p_solver_{k}": v for k, v in described.items()},
    }

    def row(seed, split, budget, config, val, test, bench, best, status="ok"):
        rows.append({
            **meta, "idx_rep": seed, "objective_split": split, "objective_budget": budget,
            "objective_config": config, "objective_score_val": val,
            "objective_score_test": test, "objective_score_bench": bench,
            "objective_score_bench_best": best, "objective_status": status,
            "objective_hyperparameters": json.dumps(
                {"C": [10.0**config, config / 4], "kernel": ["rbf", 0.5]} if config >= 0 else {}
            ),
        })

    for seed, splits in table.items():
        for k, scores in enumerate(splits):
            for t in range(1, size + 1):
                if scores is FAILED:
                    row(seed, k, t, -1, NAN, NAN, NAN, NAN, "failed")
                    continue
                by = scores[COLUMN[rule]] if rule in COLUMN else scores[1]
                best = max(range(t), key=lambda i, by=by: by[i])
                row(seed, k, t, best, *(part[best] for part in scores), max(scores[2][:t]))
        for t, refit in enumerate(zip(*(refits or {}).get(seed, ()), strict=True), 1):
            reported, true, best, config = refit
            row(seed, -1, t, config, NAN, reported, true, best)
    return rows


def frame(*searches):
    results = pd.DataFrame([row for rows in searches for row in rows])
    return results.sample(frac=1, random_state=0).reset_index(drop=True)


def curves_of(results, algorithm, rule):
    """`reported_and_true` with seeds in order; results come in any."""
    return {
        n_configs: curve.sort_index()
        for n_configs, curve in reported_and_true(results, *AT, algorithm, rule).items()
    }


@pytest.fixture(scope="module")
def study():
    """svm tuned by both rules with 3 configurations, ridge with 2."""
    return frame(
        search_rows("val", SVM), search_rows("test", SVM),
        search_rows("val", RIDGE, solver="ridge"), search_rows("test", RIDGE, solver="ridge"),
    )


class TestRuns:
    def test_one_row_per_run_and_budget(self, study):
        of = runs(study, *AT)
        assert len(of) == 2 * (4 * 3 + 3 * 2)
        assert not of.duplicated(["algorithm", "tuning", "n_configs", "budget", "seed"]).any()
        row = of[(of["algorithm"] == "svm") & (of["tuning"] == "val") & (of["seed"] == 1)
                 & (of["budget"] == 3)].iloc[0]
        assert (row["score_val"], row["score_test"], row["score_bench"]) == (.7, .5, .50)
        assert row["score_bench_best"] == .70
        assert row["chosen"] == (0,) and not row["is_refit"]

    def test_means_over_splits(self):
        # Test scores of the val-tuned: .6 and .9; of the test-tuned: .8 and .9.
        table = {0: (([.2, .1], [.6, .8], [.5, .5]), ([.3, .4], [.1, .9], [.2, .4]))}
        results = frame(search_rows("val", table), search_rows("test", table))
        of = runs(results, *AT)
        last = of[of["budget"] == 2].set_index("tuning")
        assert last["score_test"].to_dict() == pytest.approx({"val": .75, "test": .85})
        assert last["score_bench"].to_dict() == pytest.approx({"val": .45, "test": .45})
        assert last["chosen"].to_dict() == {"val": (0, 1), "test": (1, 1)}

    def test_one_failed_split_is_a_failed_run(self):
        scores = ([.2, .1], [.6, .8], [.5, .5])
        results = frame(search_rows("val", {0: (scores, FAILED), 1: (scores, scores)}))
        of = runs(results, *AT).set_index(["seed", "budget"])
        assert of.loc[0, "score_test"].isna().all() and of.loc[0, "score_val"].isna().all()
        assert of.loc[1, "score_test"].tolist() == [.6, .6]

    def test_refits_are_runs_of_their_own(self):
        refits = {0: ([.4, .9], [.45, .55], [.45, .60], [0, 1])}
        table = {0: (([.1, .2], [.4, .9], [.5, .5]),)}
        of = runs(frame(search_rows("cv", table, refits=refits)), *AT)
        assert len(of) == 4
        refit = of[of["is_refit"]].set_index("budget")
        assert refit["score_test"].tolist() == [.4, .9]
        assert refit["score_bench"].tolist() == [.45, .55]

    def test_settings_and_data_sets_are_kept_apart(self, study):
        other = study.assign(**{
            "objective_name": "Score trust[n_splits=2]", "p_obj_n_splits": 2,
            "p_obj_procedure": "mccv",
            "objective_score_test": 0.0,
        })
        both = pd.concat([study, other], ignore_index=True)
        pd.testing.assert_frame_equal(
            runs(both, "gaussian", "n_splits=1"), runs(study, *AT), check_categorical=False,
        )
        assert (runs(both, "gaussian", "n_splits=2")["score_test"].dropna() == 0).all()


class TestGap:
    def test_by_hand(self, study):
        gap, curve = gap_of(study, *AT, "svm")
        assert (gap.n_runs, gap.n_failed, gap.n_zero, gap.n_identical) == (3, 1, 1, 1)
        assert gap.mean_val_tuned == pytest.approx((.8 + .5 + .5) / 3)
        assert gap.mean_test_tuned == pytest.approx((.8 + .7 + .9) / 3)
        assert gap.mean_gap == pytest.approx(.6 / 3)
        assert gap.sd_val_tuned == pytest.approx(.03**.5)       # deviations .2 −.1 −.1
        assert gap.p_win == pytest.approx((.5 + 1 + 1) / 3)

        assert curve.budgets.tolist() == [1, 2, 3]
        assert curve.mean_gap == pytest.approx([0, .3 / 3, .6 / 3])
        assert curve.p_win == pytest.approx([.5, 2.5 / 3, 2.5 / 3])
        assert curve.n_failed.tolist() == [1, 1, 1]

    def test_runs_behind_it(self, study):
        val, test = per_run(study, *AT, "svm")
        assert val.drop(3).to_dict() == {0: .8, 1: .5, 2: .5} and np.isnan(val[3])
        assert test.drop(3).to_dict() == {0: .8, 1: .7, 2: .9} and np.isnan(test[3])

    def test_of_means_over_splits(self):
        # Gaps of the splits .2 and 0; the choices differ on one.
        table = {s: (([.2, .1], [.6, .8], [.5, .5]), ([.3, .4], [.1, .9], [.2, .4]))
                 for s in (0, 1)}
        gap, _ = gap_of(frame(search_rows("val", table), search_rows("test", table)), *AT, "svm")
        assert gap.mean_gap == pytest.approx(.1)
        assert (gap.n_runs, gap.n_zero, gap.n_identical) == (2, 0, 0)

    def test_one_configuration(self):
        table = {s: (([.5], [.4 + s / 10], [.3]),) for s in range(5)}
        gap, curve = gap_of(frame(search_rows("val", table), search_rows("test", table)), *AT,
                            "svm")
        assert (gap.mean_gap, gap.zero_share, gap.n_identical, gap.p_win) == (0, 1, 5, .5)
        assert curve.first_significant is None

    def test_the_largest_search_that_both_rules_have(self, study):
        # Two configurations for both, five for the validation rule only.
        two = {s: tuple(c and tuple(part[:2] for part in c) for c in splits)
               for s, splits in SVM.items()}
        five = {0: (([.9] * 5, [.1] * 5, [.1] * 5),)}
        results = pd.concat([study, frame(
            search_rows("val", two), search_rows("test", two), search_rows("val", five),
        )], ignore_index=True)
        assert set(runs(results, *AT)["n_configs"]) == {2, 3, 5}
        assert gap_of(results, *AT, "svm")[0] == gap_of(study, *AT, "svm")[0]

    def test_searches_of_different_sizes_only(self):
        # Budgets nest: both have the rows of the smaller.
        two = {s: tuple(c and tuple(part[:2] for part in c) for c in splits)
               for s, splits in SVM.items()}
        results = frame(search_rows("val", two), search_rows("test", SVM))
        gap, curve = gap_of(results, *AT, "svm")
        assert curve.budgets.tolist() == [1, 2]
        assert gap.mean_gap == pytest.approx(.1)
        assert algorithms(results, *AT) == ["svm"]

    def test_splits_that_only_one_rule_made(self):
        """As with stop_when_redundant, which looks at each rule's own choices."""
        bad = ([.5, .6], [.1, .1], [.1, .1])
        longer = {s: (*splits, bad) for s, splits in RIDGE.items()}
        expected = frame(*(search_rows(rule, RIDGE) for rule in ("val", "test")))
        for long, short in (("val", "test"), ("test", "val")):
            results = frame(search_rows(long, longer), search_rows(short, RIDGE))
            assert algorithms(results, *AT) == ["svm"]
            assert gap_of(results, *AT, "svm")[0] == gap_of(expected, *AT, "svm")[0]

    def test_what_tuning_bought_on_splits_that_both_made(self):
        """Where the default bears the name of another search."""
        default = {s: tuple(tuple(part[:1] for part in c) for c in splits)
                   for s, splits in RIDGE.items()}
        longer = {s: (*splits, ([.5], [.1], [.1])) for s, splits in default.items()}
        searched = search_rows("val", RIDGE, search="tpe"), search_rows("val", RIDGE)
        bought = [
            optimism_table(frame(*searched, search_rows("default", table)), *AT)
            .set_index(["algorithm", "rule"]).loc[("svm (search=tpe)", "val"), "true − default"]
            for table in (default, longer)
        ]
        # .71 − .70 in one of three seeds.
        assert bought == pytest.approx([.02 / 3] * 2)

    def test_seeds_that_only_one_rule_has(self):
        fewer = {s: SVM[s] for s in (0, 1)}
        gap, _ = gap_of(frame(search_rows("val", SVM), search_rows("test", fewer)), *AT, "svm")
        assert gap.n_runs == 2 and gap.mean_gap == pytest.approx(.1)

    def test_adaptive_searches_may_have_negative_gaps(self):
        # Each goes its own way, so that the test-guided one may end up lower.
        lower = {s: tuple(c and (c[0], [x - .25 for x in c[1]], c[2]) for c in splits)
                 for s, splits in SVM.items()}
        results = frame(search_rows("val", SVM, search="tpe"),
                        search_rows("test", lower, search="tpe"))
        gap, curve = gap_of(results, *AT, "svm")
        # −.25, .2 − .25, .4 − .25
        assert gap.mean_gap == pytest.approx(.2 - .25)
        assert gap.p_win == pytest.approx(1 / 3)
        assert curve.mean_gap == pytest.approx([-.25, .1 - .25, .2 - .25])
        # The same index isn't the same configuration.
        assert gap.n_identical is None
        assert np.isnan(ranking_table(results, *AT)["same choice"][0])

    def test_but_searches_of_the_same_configurations_may_not(self):
        lower = {s: tuple(c and (c[0], [x - .25 for x in c[1]], c[2]) for c in splits)
                 for s, splits in SVM.items()}
        results = frame(search_rows("val", SVM), search_rows("test", lower))
        with pytest.raises(ValueError, match="can't have had the same split"):
            gap_of(results, *AT, "svm")


class TestRanking:
    def test_table_by_hand(self, study):
        table = ranking_table(study, *AT).set_index("algorithm")
        assert set(table.index) == {"svm", "ridge"}
        svm, ridge = table.loc["svm"], table.loc["ridge"]
        # Val-tuned .6 and .713, test-tuned .8 and .733: the order is reversed.
        assert ridge["val-tuned"] == pytest.approx((.70 + .74 + .70) / 3)
        assert ridge["test-tuned"] == pytest.approx((.75 + .74 + .71) / 3)
        assert (svm["rank val"], ridge["rank val"]) == (2, 1)
        assert (svm["rank test"], ridge["rank test"]) == (1, 2)
        assert svm["gap"] == pytest.approx(.2) and ridge["gap"] == pytest.approx(.02)
        assert svm["gap/sd"] == pytest.approx(.2 / .03**.5)
        assert svm["sd val"] == pytest.approx(.03**.5) and svm["sd test"] == pytest.approx(.1)
        assert svm["P(win)"] == pytest.approx(2.5 / 3)
        assert (svm["zero gaps"], svm["same choice"]) == pytest.approx((1 / 3, 1 / 3))
        # A zero gap once in three runs: 1 in 27 resamples has nothing else.
        assert svm["95 %"] == "0.50–1.00" and svm["first significant T"] == ""
        assert (svm["runs"], ridge["runs"]) == ("3/4", "3/3")

    def test_notes(self, study):
        notes = ranking_notes(study, *AT)
        assert notes[0] == (
            "Zero gaps: 33.3% of 6 runs; fewer than 6 runs each tell nothing of significance"
        )
        assert notes[1].startswith("Spearman -1.000 [") and notes[2].startswith("Kendall -1.000 [")
        x, y = (.6, 2.14 / 3), (.8, 2.2 / 3)
        slope = (y[1] - y[0]) / (x[1] - x[0])
        assert notes[3] == (
            f"slope of the line {slope:.3f}, to which two algorithms give no interval"
        )

    def test_notes_where_all_score_alike(self, study):
        alike = study.assign(**{f"objective_score_{part}": .5 for part in ("val", "test", "bench")})
        assert ranking_notes(alike, *AT)[1:] == [
            "Spearman undefined", "Kendall undefined", "slope of the line undefined"
        ]

    def test_line(self, study):
        names, ranked = ranking_of(study, *AT)
        # Through the two points of means.
        x, y = {"svm": .6, "ridge": 2.14 / 3}, {"svm": .8, "ridge": 2.2 / 3}
        slope = (y["ridge"] - y["svm"]) / (x["ridge"] - x["svm"])
        assert ranked.slope.value == pytest.approx(slope)
        assert ranked.mean_val_tuned == pytest.approx([x[name] for name in names])

    def test_one_algorithm(self, study):
        alone = study[study["solver_name"].str.startswith("svm")].reset_index(drop=True)
        assert ranking_of(alone, *AT) == (["svm"], None)
        table = ranking_table(alone, *AT)
        assert table["gap"].tolist() == pytest.approx([.2])
        assert table[["rank val", "rank test"]].isna().all(axis=None)
        assert [note[:10] for note in ranking_notes(alone, *AT)] == ["Zero gaps:"]

    def test_one_run(self, study):
        first = study[study["idx_rep"] == 0].reset_index(drop=True)
        table = ranking_table(first, *AT)
        assert table["95 %"].tolist() == table["first significant T"].tolist() == ["", ""]
        assert ranking_notes(first, *AT)[0].startswith("Zero gaps: 50.0% of 2 runs; fewer")

    @pytest.mark.parametrize("n_runs, says, first", [
        (5, "fewer than 6 runs each tell nothing of significance", ""),
        (6, "significant overfitting in 1 of 1", 2),
    ])
    def test_few_runs_that_all_overfit(self, n_runs, says, first):
        # A sign test of five says p = 1/16.
        alike = {s: SVM[1] for s in range(n_runs)}
        results = frame(search_rows("val", alike), search_rows("test", alike))
        assert ranking_notes(results, *AT)[0] == f"Zero gaps: 0.0% of {n_runs} runs; {says}"
        assert ranking_table(results, *AT)["first significant T"].tolist() == [first]

    def test_rules_that_chose_among_different_fits(self, study):
        """As when one of them was run again, on another machine: the others are still shown."""
        again = study.copy()
        is_one = again["solver_name"].str.startswith("svm") & (again["p_solver_tuning"] == "test")
        is_one &= (again["idx_rep"] == 1) & (again["objective_budget"] == 2)
        again.loc[is_one, "objective_score_test"] = .4
        assert algorithms(again, *AT) == ["ridge"]
        assert ranking_table(again, *AT)["algorithm"].tolist() == ["ridge"]
        assert ranking_notes(again, *AT)[0].startswith("svm is left out: in seed 1")
        assert not any("left out" in note for note in ranking_notes(study, *AT))

    def test_no_algorithm_with_both_rules(self, study):
        only_val = study[study["p_solver_tuning"] == "val"].reset_index(drop=True)
        assert algorithms(only_val, *AT) == []
        assert ranking_table(only_val, *AT).empty
        assert ranking_notes(only_val, *AT) == []

    def test_an_algorithm_whose_every_run_failed(self, study):
        broken = {s: (FAILED, ([.5], [.5], [.5])) for s in range(3)}
        results = pd.concat([study, frame(
            search_rows("val", broken, solver="mlp"), search_rows("test", broken, solver="mlp"),
        )], ignore_index=True)
        table = ranking_table(results, *AT).set_index("algorithm")
        assert table.loc["mlp", "runs"] == "0/3" and np.isnan(table.loc["mlp", "rank val"])
        assert (table.loc["svm", "rank val"], table.loc["ridge", "rank val"]) == (2, 1)
        assert ranking_notes(results, *AT)[0].startswith("Zero gaps: 33.3% of 6 runs")

    def test_order_of_rows_does_not_matter(self, study):
        shuffled = study.sample(frac=1, random_state=1).reset_index(drop=True)
        tables = [
            ranking_table(results, *AT).sort_values("algorithm", ignore_index=True)
            for results in (study, shuffled)
        ]
        pd.testing.assert_frame_equal(*tables)


class TestReportedAndTrue:
    def test_best_validation_score(self, study):
        curves = curves_of(study, "svm", "val")
        assert list(curves) == [1, 2, 3]
        # seed 3 failed
        assert curves[1].drop(3).to_dict("list") == {
            "reported": [.5, .7, .4], "true": [.55, .50, .40], "best": [.55, .50, .40]
        }
        assert curves[3].drop(3).to_dict("list") == {
            "reported": [.7, .7, .5], "true": [.60, .50, .52], "best": [.65, .70, .80]
        }
        assert curves[3].loc[3].isna().all()

    def test_best_test_score(self, study):
        curve = curves_of(study, "svm", "test")[3].drop(3)
        assert curve["reported"].tolist() == [.8, .7, .9]
        assert curve["true"].tolist() == [.60, .70, .80]

    def test_optimism(self, study):
        measured = optimism_of(study, *AT, "svm", "val")[3]
        differences = np.array([.1, .2, -.02])
        assert (measured.n_repetitions, measured.n_failed) == (3, 1)
        assert measured.optimism == pytest.approx(differences.mean())
        assert measured.optimism_se == pytest.approx(differences.std(ddof=1) / 3**.5)

    # Cross-validated over two splits of two seeds: reported and true score, the best and the
    # choice, for budgets 1 and 2; nested scores of the same.
    SPLITS = {s: (([NAN] * 2, [.5, .7], [.5, .5]), ([NAN] * 2, [.3, .5], [.4, .4])) for s in (0, 1)}
    REFITS = {0: ([.4, .6], [.52, .51], [.52, .58], [0, 1]),
              1: ([.4, .6], [.50, .55], [.50, .55], [0, 1])}

    def test_cross_validation_reports_of_the_refit(self):
        results = frame(search_rows("cv", self.SPLITS, refits=self.REFITS))
        curves = curves_of(results, "svm", "cv")
        assert curves[2].to_dict("list") == {
            "reported": [.6, .6], "true": [.51, .55], "best": [.58, .55]
        }
        assert optimism_of(results, *AT, "svm", "cv")[2].optimism == pytest.approx(.07)

    def test_nested_is_held_against_the_refit_that_cv_chose(self):
        nested = search_rows("nested", self.SPLITS)
        cv = search_rows("cv", self.SPLITS, refits=self.REFITS)
        curves = curves_of(frame(nested, cv), "svm", "nested")
        # The mean outer score of both splits.
        assert curves[2]["reported"].tolist() == pytest.approx([.6, .6])
        assert curves[2]["true"].tolist() == [.51, .55]
        assert curves[1]["true"].tolist() == [.52, .50]

        alone = curves_of(frame(nested), "svm", "nested")
        assert alone[2]["true"].tolist() == pytest.approx([.45, .45])

    def test_a_refit_that_failed(self):
        refits = {0: self.REFITS[0], 1: ([.4, .6], [NAN] * 2, [NAN] * 2, [0, 1])}
        results = frame(search_rows("cv", self.SPLITS, refits=refits))
        results.loc[(results["idx_rep"] == 1) & (results["objective_split"] == -1),
                    "objective_status"] = "failed"
        measured = optimism_of(results, *AT, "svm", "cv")[2]
        assert (measured.n_repetitions, measured.n_failed) == (1, 1)
        assert measured.optimism == pytest.approx(.09)

    def test_rules_that_did_not_run(self, study):
        assert curves_of(study, "svm", "cv") == {}
        assert optimism_of(study, *AT, "svm", "nested") == {}


def grids(inner_folds=5):
    """cv and nested grids of 1, 4 and (capped, of 10) 9 cells on two seeds."""
    searches = []
    for n_configs, size in ((1, 1), (4, 4), (10, 9)):
        table = {s: (([NAN] * size, [.5 + i / 100 for i in range(size)], [.5] * size),)
                 for s in (0, 1)}
        # The truth of seed s: .60 + s/100 for the default, then falling with size; the best is
        # .05 above.
        refits = {
            s: tuple([value] * size for value in (
                .5 + size / 100, .60 + s / 100 - size / 200, .65 + s / 100 - size / 200, size - 1
            )) for s in (0, 1)
        }
        searches += [
            search_rows("cv", table, n_configs, "grid", refits=refits),
            search_rows("nested", table, n_configs, "grid", inner_folds=inner_folds),
        ]
    return frame(*searches)


class TestGrids:
    def test_the_gap_is_that_of_full_grids(self):
        # Of a seed, the val-tuned and the test-tuned choice from the first 1, 2, 3 cells; a grid of
        # 4 may have 3 cells only.
        by_size = {n: {s: tuple(c and tuple(part[:n] for part in c) for c in splits)
                       for s, splits in SVM.items()} for n in (1, 3)}
        results = frame(*(
            search_rows(rule, by_size[size], n_configs, "grid")
            for rule in ("val", "test") for n_configs, size in ((1, 1), (3, 3), (4, 3))
        ), search_rows("val", SVM, 9, "grid"))
        gap, curve = gap_of(results, *AT, "svm")
        assert curve.budgets.tolist() == [1, 3]
        assert curve.mean_gap == pytest.approx([0, .2]) and gap.mean_gap == pytest.approx(.2)
        assert (gap.n_runs, gap.n_failed, gap.n_identical) == (3, 1, 1)

    def test_only_full_grids_count(self):
        # At a smaller budget, a grid is an arbitrary part of itself.
        results = grids()
        curves = curves_of(results, "svm", "cv")
        assert list(curves) == [1, 4, 9]
        for size, curve in curves.items():
            assert curve["reported"].tolist() == pytest.approx([.5 + size / 100] * 2)
            assert curve["true"].tolist() == pytest.approx(
                [.60 - size / 200, .61 - size / 200])

    @pytest.mark.parametrize("inner_folds, algorithm", [(5, "svm"), (3, "svm (inner_folds=3)")])
    def test_nested_grids_are_held_against_cv_of_the_same_grid(self, inner_folds, algorithm):
        # Which has no inner folds.
        nested = curves_of(grids(inner_folds), algorithm, "nested")
        assert list(nested) == [1, 4, 9]
        for size, curve in nested.items():
            # The last of the cells is the best in the single split.
            assert curve["reported"].tolist() == pytest.approx([.5 + (size - 1) / 100] * 2)
            assert curve["true"].tolist() == pytest.approx(
                [.60 - size / 200, .61 - size / 200])

    def test_table(self):
        table = optimism_table(grids(), *AT)
        assert table["algorithm"].tolist() == ["svm"] * 6
        assert table["rule"].tolist() == ["cv"] * 3 + ["nested"] * 3
        assert table["configurations"].tolist() == [1, 4, 9] * 2
        cv = table[table["rule"] == "cv"].set_index("configurations")
        # reported .5 + n/100, true .605 − n/200
        for size in (1, 4, 9):
            assert cv.loc[size, "reported"] == pytest.approx(.5 + size / 100)
            assert cv.loc[size, "true"] == pytest.approx(.605 - size / 200)
            assert cv.loc[size, "optimism"] == pytest.approx(size * 3 / 200 - .105)
            assert cv.loc[size, "se"] == pytest.approx(.005)     # sd .01/√2, over √2
            # Against the grid of one cell, which is the default, and the best in the grid.
            assert cv.loc[size, "true − default"] == pytest.approx((1 - size) / 200)
            assert cv.loc[size, "se default"] == pytest.approx(0, abs=1e-12)
            assert cv.loc[size, "true − best"] == pytest.approx(-.05)
            assert cv.loc[size, "runs"] == 2

    def test_a_random_search_beside_grids_is_another_algorithm(self):
        results = pd.concat([grids(), frame(search_rows("val", SVM), search_rows("test", SVM))],
                            ignore_index=True)
        table = optimism_table(results, *AT)
        assert set(table["algorithm"]) == {"svm (search=grid)", "svm (search=random)"}
        assert algorithms(results, *AT) == ["svm (search=random)"]


class TestOptimismTable:
    def test_the_default_has_no_inner_folds(self):
        same, other = (
            optimism_table(grids(inner_folds), *AT).query("rule == 'nested'")
            for inner_folds in (5, 3)
        )
        pd.testing.assert_frame_equal(
            same.drop(columns="algorithm"), other.drop(columns="algorithm"))

    def test_what_tuning_bought(self, study):
        default = {s: (c and tuple(part[:1] for part in c),)
                   for s, (c,) in SVM.items()}
        default[0] = (([.5], [.6], [.58]),)
        results = pd.concat([study, frame(search_rows("default", default, n_configs=30))],
                            ignore_index=True)
        table = optimism_table(results, *AT)
        svm = table[table["algorithm"] == "svm"].set_index("rule")
        assert svm["configurations"].to_dict() == {"default": 1, "val": 3, "test": 3}
        # True: default .58 .50 .40; val-tuned .60 .50 .52; test-tuned .60 .70 .80; best .65 .70 .80
        assert svm["true"].to_dict() == pytest.approx(
            {"default": 1.48 / 3, "val": 1.62 / 3, "test": 2.1 / 3})
        assert svm["true − default"].to_dict() == pytest.approx(
            {"default": 0, "val": .14 / 3, "test": .62 / 3})
        assert svm.loc["val", "true − best"] == pytest.approx((1.62 - 2.15) / 3)
        assert svm.loc["val", "optimism"] == pytest.approx(.28 / 3)
        assert (svm["runs"] == 3).all()
        # Whatever search the default didn't make.
        searched = {"search": "grid", "inner_folds": 2}
        grid = frame(*(search_rows(rule, SVM, **searched) for rule in ("val", "test")),
                     search_rows("default", default, n_configs=30))
        of_grid = optimism_table(grid, *AT).set_index("rule")
        assert of_grid["true − default"].to_dict() == svm["true − default"].to_dict()
        # Without its default, a search can't say what it bought over it.
        ridge = table[table["algorithm"] == "ridge"]
        assert ridge["true − default"].isna().all() and ridge["true − best"].notna().all()

    def test_without_benchmarking_set(self, study):
        blind = study.assign(objective_score_bench=NAN, objective_score_bench_best=NAN)
        assert optimism_table(blind, *AT).empty


class TestWinners:
    def test_of_the_largest_search_at_its_full_budget(self, study):
        won = winners(study, *AT, "svm", "val")
        # Configurations 2, 0, 1 of three seeds: C = 100, 1, 10; the failed seed has none.
        C = won[won["hyperparameter"] == "C"].sort_values("value")
        assert C["value"].tolist() == [1, 10, 100]
        assert C["position"].tolist() == [0, .25, .5]
        kernel = won[won["hyperparameter"] == "kernel"]
        assert kernel["value"].tolist() == ["rbf"] * 3
        assert winners(study, *AT, "svm", "test")["value"].map(
            {100: 2, 1: 0, 10: 1}.get).dropna().sort_values().tolist() == [1, 2, 2]

    def test_every_split_has_a_winner_and_cv_one_for_all(self):
        table, refits = TestReportedAndTrue.SPLITS, TestReportedAndTrue.REFITS
        results = frame(search_rows("cv", table, refits=refits), search_rows("nested", table))
        assert (winners(results, *AT, "svm", "cv")["hyperparameter"] == "C").sum() == 2
        assert (winners(results, *AT, "svm", "nested")["hyperparameter"] == "C").sum() == 4

    def test_table(self, study):
        table = winners_table(study, *AT).set_index(["algorithm", "rule", "hyperparameter"])
        C, kernel = (table.loc[("svm", "val", name)] for name in ("C", "kernel"))
        # At 0, 1/4 and 1/2 of the range.
        assert (C["typical"], C["position"], C["winners"]) == ("10", "0.25 [0.12–0.38]", 3)
        assert (C["lowest tenth"], C["highest tenth"]) == (1 / 3, 0)
        assert (kernel["typical"], kernel["position"]) == ("rbf", "0.50 [0.50–0.50]")

    def test_table_of_defaults_outside_the_range(self, study):
        # As a grid of one cell may choose.
        outside = study.assign(objective_hyperparameters='{"gamma": ["scale", null]}')
        row = winners_table(outside, *AT).iloc[0]
        assert (row["typical"], row["position"]) == ("scale", "")
        assert np.isnan([row["lowest tenth"], row["highest tenth"]]).all()

    def test_rules_that_did_not_run(self, study):
        won = winners(study, *AT, "svm", "nested")
        assert won.empty and list(won.columns) == ["hyperparameter", "value", "position"]


def test_inner_folds_that_differ_make_different_learners():
    # Else the page's tables would put two runs of one seed into one cell.
    results = frame(search_rows("nested", SVM, inner_folds=2),
                    search_rows("nested", SVM, inner_folds=5))
    assert len(set(labels(results, "learner").values())) == 2
