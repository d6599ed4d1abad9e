// Which build this is: version, commit, compiler, instruction set. Recordings of another one need not replay to the
// same bits.
#pragma once

namespace tactus {

const char* build_id() noexcept;  // "0.1.0 (ff2a8d1, GNU 12.2.0 Release, x86-64)"

}  // namespace tactus
