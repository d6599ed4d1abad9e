// Keys of a terminal for the keyboard device; POSIX. A pipe works as well, so that scripts can drive it.
#pragma once

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "tactus/haptic/keyboard_device.h"

namespace tactus::haptic {

class TerminalKeys {
 public:
  static constexpr const char* kHelp = "w s: y   a d: x   r f: z   space: clutch   x: end";

  explicit TerminalKeys(double step) : step_(step), terminal_(isatty(STDIN_FILENO) == 1) {
    if (!terminal_) return;
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~TerminalKeys() {
    if (terminal_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  TerminalKeys(const TerminalKeys&) = delete;
  TerminalKeys& operator=(const TerminalKeys&) = delete;

  // Waits for so long at most; false: the person wants to end.
  bool feed(KeyboardDevice& device, int wait_ms) {
    pollfd in{STDIN_FILENO, POLLIN, 0};
    char key = 0;
    if (ended_) {
      poll(nullptr, 0, wait_ms);
      return true;
    }
    if (poll(&in, 1, wait_ms) <= 0) return true;
    if (read(STDIN_FILENO, &key, 1) != 1) return ended_ = true;  // a pipe at its end: what is held stays held
    switch (key) {
      case 'd':
        return device.mouse(Vec3(step_, 0, 0)), true;
      case 'a':
        return device.mouse(Vec3(-step_, 0, 0)), true;
      case 'w':
        return device.mouse(Vec3(0, step_, 0)), true;
      case 's':
        return device.mouse(Vec3(0, -step_, 0)), true;
      case 'r':
        return device.mouse(Vec3(0, 0, step_)), true;
      case 'f':
        return device.mouse(Vec3(0, 0, -step_)), true;
      case ' ':
        return device.clutch(clutched_ = !clutched_), true;
      default:
        return key != 'x';
    }
  }

 private:
  double step_;
  bool terminal_, clutched_ = false, ended_ = false;
  termios before_{};
};

}  // namespace tactus::haptic
