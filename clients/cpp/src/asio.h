// Asio, always after a standard header. Asio 1.22 decides by a macro of the standard library how it allocates; a file
// that includes it first decides otherwise than the rest of the program, and memory of the one is freed by the other.
#pragma once

#include <cstddef>
// Keep this order.
#include <asio.hpp>
