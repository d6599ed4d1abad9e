// Gauss-Legendre quadrature on [0, 1], 8 points: exact for polynomials up to degree 15.
#pragma once

#include <array>
#include <cstddef>

namespace tactus {

inline constexpr std::size_t kGaussPoints = 8;
inline constexpr std::array<double, kGaussPoints> kGaussNode{
    0.019855071751231884, 0.10166676129318664, 0.2372337950418355, 0.4082826787521751,
    0.591717321247825,    0.7627662049581645,  0.8983332387068134, 0.9801449282487681};
inline constexpr std::array<double, kGaussPoints> kGaussWeight{
    0.05061426814518813, 0.11119051722668724, 0.15685332293894363, 0.181341891689181,
    0.181341891689181,   0.15685332293894363, 0.11119051722668724, 0.05061426814518813};

}  // namespace tactus
