#include "clients/cpp/src/session.h"

#include <algorithm>

namespace tactus::client {
namespace {

using asio::use_awaitable;

std::string place(const Options& options) {
  return options.host + ":" + std::to_string(options.control_port);
}

wire::Nonce nonce_of(const std::string& bytes) {
  wire::Nonce nonce{};
  if (bytes.size() != nonce.size())
    throw Error(Error::Kind::handshake, "the server's nonce is not 32 bytes: is this a Tactus server?");
  std::copy(bytes.begin(), bytes.end(), nonce.begin());
  return nonce;
}

std::string text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The server does not let this client in, and says why.
Error refused(const v1::Error& error) {
  const std::string why = error.code() == v1::ERROR_WRONG_KEY ? "wrong token: " : "the server refused: ";
  return {Error::Kind::handshake, why + error.text(), error.code()};
}

std::string trimmed(std::string token) {
  while (!token.empty() && std::string(" \t\r\n\v\f").find(token.back()) != std::string::npos) token.pop_back();
  return token;
}

}  // namespace

Session::Session(asio::io_context& io, Options options, Handlers handlers)
    : io_(io),
      options_([&] {
        options.token = trimmed(options.token);
        return std::move(options);
      }()),
      handlers_(std::move(handlers)),
      socket_(io),
      watchdog_(io),
      backoff_(io) {}

void Session::start() {
  asio::co_spawn(io_, run(), asio::detached);
}

void Session::stop() {
  stopping_ = true;
  backoff_.cancel();
  close("closed by this client");
}

void Session::close(const std::string& reason) {
  if (close_reason_.empty()) close_reason_ = reason;
  std::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

// One conversation after the other, until stop() or a failure that a retry cannot mend.
asio::awaitable<void> Session::run() {
  auto pause = std::chrono::milliseconds(50);
  bool ever_up = false;
  while (!stopping_) {
    Error::Kind kind = Error::Kind::connect;
    std::string reason;
    int code = 0;
    close_reason_.clear();
    try {
      Handshake handshake;
      timed_out_ = false;
      arm_watchdog();
      co_await open();
      kind = Error::Kind::handshake;
      co_await shake_hands(handshake);
      watchdog_.cancel();
      kind = Error::Kind::link_lost;
      up_ = ever_up = true;
      pause = std::chrono::milliseconds(50);
      handlers_.up(handshake);
      co_await read_replies();
    } catch (const Error& error) {
      kind = error.kind();
      reason = error.what();
      code = error.code();
    } catch (const std::exception& error) {
      if (kind == Error::Kind::connect)
        reason = "no connection to " + place(options_) + " (" + error.what() +
                 "): is tactusd running there, with this control port?";
      else if (kind == Error::Kind::handshake)
        reason = place(options_) + " broke off the handshake (" + error.what() +
                 "): is this the control port of a Tactus server?";
      else
        reason = std::string("the connection was lost: ") + error.what();
    }
    watchdog_.cancel();
    if (timed_out_)
      reason =
          "no answer from " + place(options_) + " within " + std::to_string(options_.connect_timeout.count()) + " ms";
    if (!close_reason_.empty()) reason = close_reason_;
    up_ = false;
    close(reason);
    fail_all(Error::Kind::link_lost, reason);
    down_reason_ = reason;
    const bool final = stopping_ || !options_.reconnect || !ever_up;
    handlers_.down({kind, reason, code}, final);
    if (final) co_return;
    backoff_.expires_after(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(1000));
    std::error_code ignored;
    co_await backoff_.async_wait(asio::redirect_error(use_awaitable, ignored));
  }
}

void Session::arm_watchdog() {
  watchdog_.expires_after(options_.connect_timeout);
  watchdog_.async_wait([this](std::error_code error) {
    if (error || up_) return;
    timed_out_ = true;
    std::error_code ignored;
    socket_.close(ignored);
  });
}

asio::awaitable<void> Session::open() {
  codec_ = ControlCodec('C');
  outbox_ = std::make_shared<Outbox>();
  std::error_code ignored;
  socket_.close(ignored);
  asio::ip::tcp::resolver resolver(io_);
  const std::string port = std::to_string(options_.control_port);
  const auto places = co_await resolver.async_resolve(options_.host, port, use_awaitable);
  if (stopping_) throw Error(Error::Kind::connect, "closed by this client");
  co_await asio::async_connect(socket_, places, use_awaitable);
  socket_.set_option(asio::ip::tcp::no_delay(true));
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  last_received_ns_ = now_ns();
}

asio::awaitable<void> Session::shake_hands(Handshake& out) {
  wire::Nonce mine;
  wire::random_bytes(mine);
  v1::Request request;
  request.set_id(1);
  v1::Hello& hello = *request.mutable_hello();
  hello.set_version_major(wire::kVersionMajor);
  hello.set_version_minor(wire::kVersionMinor);
  hello.set_client_name(options_.name);
  hello.set_nonce(text_of(mine));
  co_await write_now(std::move(request));

  const v1::Reply reply = co_await read_reply();
  if (reply.has_error()) throw refused(reply.error());
  if (!reply.has_hello())
    throw Error(Error::Kind::handshake, "the server did not answer Hello: is this a Tactus server?");
  const v1::HelloReply& answer = reply.hello();
  if (answer.version_major() != wire::kVersionMajor)
    throw Error(Error::Kind::handshake, "the server speaks version " + std::to_string(answer.version_major()) +
                                            " of the protocol, this client version " +
                                            std::to_string(wire::kVersionMajor));
  out.session = answer.session();
  out.scene_epoch = answer.scene_epoch();
  out.role = answer.role();
  out.build = answer.build();
  out.step_s = answer.step_s();
  out.realtime = {socket_.remote_endpoint().address(), static_cast<std::uint16_t>(answer.realtime_port())};
  if (answer.needs_token()) {
    co_await prove_token(mine, nonce_of(answer.nonce()), out);
    co_return;
  }
  // A token was given to be checked: a server that does not ask for it may be anyone, on this machine too.
  if (!options_.token.empty())
    throw Error(Error::Kind::handshake,
                place(options_) +
                    " says that it needs no token, so it cannot show that it is the server you mean. Start tactusd "
                    "with --token-file, or connect without a token");
  if (answer.key().size() != out.key.size()) throw Error(Error::Kind::handshake, "the server sent no session key");
  std::copy(answer.key().begin(), answer.key().end(), out.key.begin());
  codec_.set_key(out.key);
}

asio::awaitable<void> Session::prove_token(const wire::Nonce& mine, const wire::Nonce& theirs, Handshake& out) {
  if (options_.token.empty())
    throw Error(Error::Kind::handshake,
                "the server needs a token: pass its token file (tactus --token-file F, Options::token)");
  v1::Request request;
  request.set_id(next_id_++);
  const wire::Proof proof = wire::handshake_proof(options_.token, "client", mine, theirs);
  request.mutable_authenticate()->set_proof(text_of(proof));
  co_await write_now(std::move(request));

  out.key = wire::derive_session_key(options_.token, mine, theirs);
  codec_.set_key(out.key);
  const v1::Reply reply = co_await read_reply();
  if (reply.has_error()) throw refused(reply.error());
  const wire::Proof expected = wire::handshake_proof(options_.token, "server", mine, theirs);
  if (!reply.has_authenticate() || !wire::equal(bytes_of(reply.authenticate().proof()), expected))
    throw Error(Error::Kind::handshake,
                "the server could not prove that it knows the token: this is not the server you meant");
  out.role = reply.authenticate().role();
}

asio::awaitable<void> Session::write_now(v1::Request request) {
  const std::string payload = request.SerializeAsString();
  const std::vector<std::uint8_t> frame = codec_.encode(bytes_of(payload));
  co_await asio::async_write(socket_, asio::buffer(frame), use_awaitable);
}

asio::awaitable<v1::Reply> Session::read_reply() {
  std::array<std::uint8_t, 4> prefix;
  co_await asio::async_read(socket_, asio::buffer(prefix), use_awaitable);
  std::uint32_t length = 0;
  for (int i = 0; i < 4; ++i) length |= static_cast<std::uint32_t>(prefix[i]) << (8 * i);
  if (!codec_.legal_length(length))
    throw Error(Error::Kind::link_lost, "a frame of illegal length came: this is not the Tactus protocol");
  inbox_.resize(length);
  co_await asio::async_read(socket_, asio::buffer(inbox_), use_awaitable);
  v1::Reply reply = parse(inbox_);
  last_received_ns_ = now_ns();
  co_return reply;
}

// The reply in a frame. A frame with a wrong mac ends the connection; if it is the server's unsealed refusal, its text
// says why. Before both sides have a key any refusal may come so, afterwards only that of a frame of ours.
v1::Reply Session::parse(std::span<const std::uint8_t> frame) {
  v1::Reply reply;
  const auto payload = codec_.decode(frame);
  if (payload) {
    if (!reply.ParseFromArray(payload->data(), static_cast<int>(payload->size())))
      throw Error(Error::Kind::link_lost, "the server sent a frame that does not decode");
    return reply;
  }
  if (reply.ParseFromArray(frame.data(), static_cast<int>(frame.size())) && reply.has_error()) {
    if (!up_) throw refused(reply.error());
    if (reply.error().code() == v1::ERROR_WRONG_KEY || reply.error().code() == v1::ERROR_MALFORMED)
      throw Error(Error::Kind::link_lost, "the server refused: " + reply.error().text(), reply.error().code());
  }
  throw Error(up_ ? Error::Kind::link_lost : Error::Kind::handshake,
              "a frame came with a wrong mac: the connection was tampered with, or the tokens differ");
}

asio::awaitable<void> Session::read_replies() {
  while (true) {
    v1::Reply reply = co_await read_reply();
    handle(std::move(reply));
  }
}

void Session::handle(v1::Reply reply) {
  if (reply.has_event()) {
    handlers_.event(reply.event());
    return;
  }
  if (reply.id() == 0) {
    if (reply.has_error()) close_reason_ = "the server said: " + reply.error().text();
    return;
  }
  const auto found = waiting_.find(reply.id());
  if (found == waiting_.end()) return;
  const Done done = std::move(found->second);
  waiting_.erase(found);
  Outcome outcome;
  if (reply.has_error()) {
    outcome.kind = Error::Kind::refused;
    outcome.code = reply.error().code();
    outcome.text = reply.error().text();
  } else {
    handlers_.reply(reply);
    outcome.reply = std::move(reply);
  }
  done(std::move(outcome));
}

void Session::fail_all(Error::Kind kind, const std::string& text) {
  auto failed = std::move(waiting_);
  waiting_.clear();
  for (auto& [id, done] : failed) done({std::nullopt, kind, 0, text});
}

void Session::request(v1::Request request, Done done) {
  if (!up_) {
    done(
        {std::nullopt, Error::Kind::link_lost, 0, "not connected" + (down_reason_.empty() ? "" : ": " + down_reason_)});
    return;
  }
  if (next_id_ == 0) next_id_ = 2;
  request.set_id(next_id_++);
  const std::string payload = request.SerializeAsString();
  if (payload.size() + wire::kMacBytes > wire::kControlInboundMax) {
    done({std::nullopt, Error::Kind::usage, 0, "the request is larger than the server takes (1 MiB)"});
    return;
  }
  waiting_.emplace(request.id(), std::move(done));
  outbox_->push_back(codec_.encode(bytes_of(payload)));
  if (outbox_->size() == 1) write_next();
}

void Session::write_next() {
  asio::async_write(socket_, asio::buffer(outbox_->front()), [this, box = outbox_](std::error_code error, std::size_t) {
    if (error || box != outbox_) return;  // the read side notices a broken connection
    box->pop_front();
    if (!box->empty()) write_next();
  });
}

}  // namespace tactus::client
