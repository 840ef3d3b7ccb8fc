from scipy.stats import loguniform
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from benchmark_utils.ngrams import Tfidf
from benchmark_utils.solver import EstimatorSolver
from benchmark_utils.texts import not_texts


class Solver(EstimatorSolver):
    """TF-IDF and logistic regression: needs no download. The texts of a pair are joined to one."""
    name = "tfidf"
    tasks = ("classification",)
    takes_views = True
    parameters = {
        **EstimatorSolver.parameters,
        # a term is made of that many neighbouring words at most
        "ngrams": [1],
        # whether a word's frequency in a text counts by its logarithm
        "sublinear": [False],
        # inverse strength of the penalty
        "C": [10.0],
    }
    search_space = {"sublinear": [False, True], "C": loguniform(1e-2, 1e3)}

    def skip(self, problem, **objective):
        problem = problem or not_texts(self.name, objective["study"])
        return super().skip(problem=problem, **objective)

    def get_estimator(self, task, seed, ngrams, sublinear, C):
        return make_pipeline(Tfidf(ngrams, sublinear), LogisticRegression(C=C, max_iter=1000))
