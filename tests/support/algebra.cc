#include "tests/support/algebra.h"

#include <Eigen/Dense>

namespace tactus::test {

using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd symmetric_eigenvalues(const MatrixXd& A) {
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(A, Eigen::EigenvaluesOnly).eigenvalues();
}

VectorXd generalised_eigenvalues(const MatrixXd& A, const MatrixXd& B) {
  return Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd>(A, B, Eigen::EigenvaluesOnly).eigenvalues();
}

double spectral_radius(const MatrixXd& A) {
  return Eigen::EigenSolver<MatrixXd>(A, false).eigenvalues().cwiseAbs().maxCoeff();
}

bool is_positive_definite(const MatrixXd& A) {
  return Eigen::LLT<MatrixXd>(A).info() == Eigen::Success;
}

MatrixXd solve_llt(const MatrixXd& A, const MatrixXd& B) {
  return A.llt().solve(B);
}

MatrixXd solve_ldlt(const MatrixXd& A, const MatrixXd& B) {
  return A.ldlt().solve(B);
}

MatrixXd solve_lu(const MatrixXd& A, const MatrixXd& B) {
  return A.partialPivLu().solve(B);
}

}  // namespace tactus::test
