// Dense algebra that several tests use, compiled once: Eigen's decompositions cost each file that names one 5 to 40 s.
#pragma once

#include <Eigen/Core>

namespace tactus::test {

// Eigenvalues of a symmetric matrix, ascending.
Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& A);
// Eigenvalues x of A v = x B v, A symmetric and B positive definite, ascending.
Eigen::VectorXd generalised_eigenvalues(const Eigen::MatrixXd& A, const Eigen::MatrixXd& B);
// The largest absolute value of any eigenvalue of a square matrix.
double spectral_radius(const Eigen::MatrixXd& A);
// True when A has a Cholesky factor.
bool is_positive_definite(const Eigen::MatrixXd& A);
// A^-1 B with A symmetric and positive definite: by L L^T, or by L D L^T.
Eigen::MatrixXd solve_llt(const Eigen::MatrixXd& A, const Eigen::MatrixXd& B);
Eigen::MatrixXd solve_ldlt(const Eigen::MatrixXd& A, const Eigen::MatrixXd& B);
// A^-1 B for any regular A, by partial pivoting.
Eigen::MatrixXd solve_lu(const Eigen::MatrixXd& A, const Eigen::MatrixXd& B);

}  // namespace tactus::test
