#include "clients/cpp/src/child_server.h"

#include <filesystem>

#include "tactus/types.h"

#ifndef _WIN32
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
#endif

namespace tactus::client {

std::string own_directory(const std::string& argv0) {
  std::error_code error;
#ifdef __linux__
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return self.parent_path().string();
#endif
  const auto path = std::filesystem::absolute(argv0, error).parent_path();
  return path.string();
}

#ifdef _WIN32

struct ChildServer::Impl {};
ChildServer::ChildServer(const std::string&, const std::vector<std::string>&, const std::function<bool()>&) {
  throw Error(Error::Kind::usage,
              "starting a server from here works on POSIX systems only: start tactusd, then run this again");
}
ChildServer::~ChildServer() = default;

#else

struct ChildServer::Impl {
  pid_t pid = -1;
  int out = -1;
  std::string said;      // what it wrote, the last 4 kB
  std::thread draining;  // so that it never blocks on a full pipe
  std::atomic<bool> stop{false};

  // Appends what there is within 100 ms; false when the child has closed its end.
  bool read_some() {
    pollfd wait{out, POLLIN, 0};
    if (poll(&wait, 1, 100) <= 0) return true;
    char bytes[1024];
    const ssize_t n = read(out, bytes, sizeof bytes);
    if (n <= 0) return false;
    said.append(bytes, static_cast<std::size_t>(n));
    if (said.size() > 8192) said.erase(0, said.size() - 4096);
    return true;
  }
  bool ended(int patience_ms) {
    for (int waited = 0; waited < patience_ms; waited += 10) {
      if (waitpid(pid, nullptr, WNOHANG) != 0) return true;
      usleep(10'000);
    }
    return false;
  }
  ~Impl() {
    stop = true;
    if (draining.joinable()) draining.join();
    if (pid > 0) {
      kill(pid, SIGTERM);
      if (!ended(3000)) {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
      }
    }
    if (out >= 0) close(out);
  }
};

namespace {

// In the child between fork and exec: only what is safe there.
[[noreturn]] void become(const char* program, const char* const* arguments, int out) {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // should we be killed, it goes too
#endif
  signal(SIGINT, SIG_IGN);           // Ctrl-C is for us; we end it
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execv(program, const_cast<char* const*>(arguments));
  _exit(127);
}

// The port in "tactusd: listening control=127.0.0.1:PORT realtime=PORT", or 0.
std::uint16_t announced_port(const std::string& said) {
  const auto line = said.find("listening control=");
  if (line == std::string::npos) return 0;
  const auto end = said.find('\n', line);
  if (end == std::string::npos) return 0;
  const auto space = said.find(" realtime=", line);
  const auto colon = said.rfind(':', space);
  if (space == std::string::npos || space > end || colon == std::string::npos) return 0;
  return static_cast<std::uint16_t>(std::strtoul(said.c_str() + colon + 1, nullptr, 10));
}

}  // namespace

ChildServer::ChildServer(const std::string& program, const std::vector<std::string>& flags,
                         const std::function<bool()>& give_up)
    : impl_(std::make_unique<Impl>()) {
  if (access(program.c_str(), X_OK) != 0)
    throw Error(Error::Kind::usage, "no tactusd at " + program + ": build it, or start a server and run this again");
  std::vector<const char*> arguments = {
      program.c_str(), "--control-port", "0", "--realtime-port", "0", "--web-port", "0"};
  for (const std::string& flag : flags) arguments.push_back(flag.c_str());
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) throw Error(Error::Kind::usage, "no pipe for the server's output");
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  impl_->out = ends[0];
  impl_->pid = fork();
  if (impl_->pid == 0) become(program.c_str(), arguments.data(), ends[1]);
  close(ends[1]);
  if (impl_->pid < 0) throw Error(Error::Kind::usage, "the server could not be started");
  for (const std::int64_t until = now_ns() + 20'000'000'000; now_ns() < until && !(give_up && give_up());) {
    const bool alive = impl_->read_some();
    port_ = announced_port(impl_->said);
    if (port_ != 0) {
      impl_->draining = std::thread([d = impl_.get()] {
        while (!d->stop && d->read_some()) {
        }
      });
      return;
    }
    if (!alive) break;
  }
  throw Error(Error::Kind::connect, program + " did not start listening. It said:\n" + impl_->said);
}

ChildServer::~ChildServer() = default;

#endif

}  // namespace tactus::client
