// A small server in this process that speaks the wire of proto/README.md, with faults to order. Not a physics server:
// three bodies, the first of which moves by its commanded force. For the tests of clients/cpp.
#pragma once

#include <atomic>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "clients/cpp/src/asio.h"
#include "clients/cpp/src/control_codec.h"
#include "clients/cpp/src/link_math.h"
#include "control.pb.h"
#include "proto/cpp/seal.h"
#include "realtime.pb.h"

namespace tactus::testing {

struct Faults {
  std::string token;  // needs it when set
  bool lie_about_proof = false;
  std::atomic<int> wrong_macs{0};           // the next n sealed frames get a wrong mac
  std::atomic<unsigned> parts{1};           // packets per tick, 1 to 3
  std::atomic<bool> shuffle{false};         // parts in reverse order
  std::atomic<bool> repeat{false};          // each datagram twice
  std::atomic<bool> drop_last_part{false};  // of every second tick
  std::atomic<bool> forged{false};          // also a datagram with a wrong mac, showing a body far away
  std::atomic<bool> deny_renewal{false};
  std::atomic<int> load_ms{0};  // a scene takes so long to load
  enum Full { nowhere, at_hello, at_authenticate };
  std::atomic<Full> full{nowhere};  // whoever comes is turned away there, without a mac
};

class FakeServer {
 public:
  explicit FakeServer(std::uint16_t port = 0, const std::string& token = {}, bool lie = false)
      : acceptor_(io_, {asio::ip::address_v4::loopback(), port}),
        udp_(io_, {asio::ip::address_v4::loopback(), 0}),
        tcp_(io_),
        timer_(io_),
        loading_(io_) {
    faults.token = token;
    faults.lie_about_proof = lie;
    wire::Nonce random;
    wire::random_bytes(random);
    epoch_ = random[0] | (random[1] << 8) | 0x10000u;
    accept();
    receive();
    tick();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~FakeServer() {
    io_.stop();
    thread_.join();
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void drop_connection() {
    asio::post(io_, [this] {
      std::error_code ignored;
      tcp_.close(ignored);
    });
  }
  void send_event(v1::Event::Kind kind, const std::string& text) {
    asio::post(io_, [this, kind, text] {
      v1::Reply reply;
      reply.mutable_event()->set_kind(kind);
      reply.mutable_event()->set_text(text);
      reply.mutable_event()->set_scene_epoch(epoch_);
      write(reply);
    });
  }
  void change_scene() {
    asio::post(io_, [this] {
      ++epoch_;
      subscribed_ = false;
      v1::Reply reply;
      reply.mutable_event()->set_kind(v1::Event::SCENE_CHANGED);
      reply.mutable_event()->set_scene_epoch(epoch_);
      write(reply);
    });
  }

  Faults faults;
  std::atomic<double> force{0};  // newest commanded x force on body 0
  std::atomic<int> commands{0}, zeros{0}, renewals{0}, grants{0}, subscriptions{0}, replays_refused{0};
  std::atomic<bool> lockstep{false};
  std::set<std::string> leased() {
    std::promise<std::set<std::string>> answer;
    asio::post(io_, [&] { answer.set_value(leased_); });
    return answer.get_future().get();
  }

 private:
  // --- TCP
  void accept() {
    acceptor_.async_accept([this](std::error_code error, asio::ip::tcp::socket socket) {
      if (error) return;
      tcp_ = std::move(socket);
      tcp_.set_option(asio::ip::tcp::no_delay(true));
      codec_ = client::ControlCodec('S');
      sealer_.reset();
      leased_.clear();
      subscribed_ = bound_ = false;
      verdicts_.clear();
      sequence_ = 0;
      window_ = {};
      read();
      accept();
    });
  }
  void read() {
    asio::async_read(tcp_, asio::buffer(prefix_), [this](std::error_code error, std::size_t) {
      if (error) return lost();
      body_.resize(prefix_[0] | (prefix_[1] << 8) | (prefix_[2] << 16));
      asio::async_read(tcp_, asio::buffer(body_), [this](std::error_code bad, std::size_t) {
        if (bad) return lost();
        const auto payload = codec_.decode(body_);
        v1::Request request;
        if (!payload || !request.ParseFromArray(payload->data(), static_cast<int>(payload->size()))) return lost();
        answer(request);
        read();
      });
    });
  }
  void lost() {
    std::error_code ignored;
    tcp_.close(ignored);
    subscribed_ = bound_ = false;
    leased_.clear();
    force = 0;
  }
  void write(const v1::Reply& reply) {
    const std::string payload = reply.SerializeAsString();
    auto frame = codec_.encode(client::bytes_of(payload));
    if (codec_.sealed() && faults.wrong_macs > 0 && faults.wrong_macs-- > 0) frame.back() ^= 1;
    std::error_code ignored;
    asio::write(tcp_, asio::buffer(frame), ignored);
  }
  static std::string text(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }
  void hello(const v1::Request& request) {
    std::copy(request.hello().nonce().begin(), request.hello().nonce().end(), theirs_.begin());
    wire::random_bytes(mine_);
    wire::random_bytes(key_);
    v1::Reply reply;
    reply.set_id(request.id());
    auto& h = *reply.mutable_hello();
    h.set_version_major(1);
    h.set_nonce(text(mine_));
    h.set_needs_token(!faults.token.empty());
    h.set_session(++session_);
    h.set_realtime_port(udp_.local_endpoint().port());
    h.set_scene_epoch(epoch_);
    h.set_step_s(0.001);
    if (faults.token.empty()) h.set_key(text(key_));
    write(reply);
    if (faults.token.empty()) seal();
  }
  void seal() {
    codec_.set_key(key_);
    sealer_.emplace(key_);
    opener_.emplace(key_);
  }
  void turn_away(const v1::Request& request) {
    v1::Reply reply;
    reply.set_id(request.id());
    reply.mutable_error()->set_code(v1::ERROR_FULL);
    reply.mutable_error()->set_text("all places are taken");
    write(reply);
    lost();
  }
  void load(const v1::Request& request) {
    loading_.expires_after(std::chrono::milliseconds(faults.load_ms));
    loading_.async_wait([this, id = request.id()](std::error_code error) {
      if (error) return;
      v1::Reply reply;
      reply.set_id(id);
      describe(*reply.mutable_scene());
      write(reply);
    });
  }
  void authenticate(const v1::Request& request) {
    v1::Reply reply;
    reply.set_id(request.id());
    if (!wire::equal(client::bytes_of(request.authenticate().proof()),
                     wire::handshake_proof(faults.token, "client", theirs_, mine_))) {
      reply.mutable_error()->set_code(v1::ERROR_WRONG_KEY);
      reply.mutable_error()->set_text("the token is not this server's");
      write(reply);
      return lost();
    }
    key_ = wire::derive_session_key(faults.token, theirs_, mine_);
    seal();
    auto proof = wire::handshake_proof(faults.token, "server", theirs_, mine_);
    if (faults.lie_about_proof) proof[0] ^= 1;
    reply.mutable_authenticate()->set_proof(text(proof));
    reply.mutable_authenticate()->set_role("control");
    write(reply);
  }
  void describe(v1::SceneDescription& scene) {
    scene.set_name("fake");
    scene.set_scene_epoch(epoch_);
    for (unsigned i = 0; i < 3; ++i) {
      auto& body = *scene.add_bodies();
      body.set_id(i);
      body.set_name("body" + std::to_string(i));
      body.set_mode("free");
      body.set_mass_kg(1);
    }
  }
  void answer(const v1::Request& request) {
    if (request.has_hello() && faults.full == Faults::at_hello) return turn_away(request);
    if (request.has_authenticate() && faults.full == Faults::at_authenticate) return turn_away(request);
    if (request.has_hello()) return hello(request);
    if (request.has_authenticate()) return authenticate(request);
    if (request.has_load_scene()) return load(request);
    v1::Reply reply;
    reply.set_id(request.id());
    switch (request.body_case()) {
      case v1::Request::kDescribeScene:
        describe(*reply.mutable_scene());
        break;
      case v1::Request::kSubscribe:
        subscribed_ = true;
        ++subscriptions;
        reply.mutable_subscription()->set_id(7);
        break;
      case v1::Request::kAcquireLease:
        if (request.acquire_lease().channels(0) == "body/body2/wrench") {
          reply.mutable_error()->set_code(v1::ERROR_LEASED_BY_OTHER);
          reply.mutable_error()->set_text("held by 'someone'");
          break;
        }
        for (const auto& channel : request.acquire_lease().channels()) leased_.insert(channel);
        reply.mutable_lease()->set_lease(5);
        break;
      case v1::Request::kRenewLease:
        ++renewals;
        if (faults.deny_renewal || leased_.empty())
          reply.mutable_error()->set_code(v1::ERROR_NOT_FOUND);
        else
          reply.mutable_lease()->set_lease(5);
        break;
      case v1::Request::kReleaseLease:
        leased_.clear();
        reply.mutable_done();
        break;
      case v1::Request::kSetLockstep:
        lockstep = request.set_lockstep().on();
        reply.mutable_done();
        break;
      case v1::Request::kGrant:
        run_to(request.grant().run_to_tick());
        reply.mutable_grant()->set_tick(tick_);
        break;
      case v1::Request::kGetStatistics:
        reply.mutable_statistics()->set_tick(tick_);
        reply.mutable_statistics()->set_lockstep(lockstep);
        break;
      case v1::Request::kSetModel:
        reply.mutable_error()->set_code(v1::ERROR_NOT_LEASED);
        reply.mutable_error()->set_text("take the lease \"world\" first");
        break;
      case v1::Request::kPause:
        break;  // never answers: an empty reply is not sent
      default:
        reply.mutable_done();
    }
    if (request.has_pause()) return;
    write(reply);
  }

  // --- UDP
  void receive() {
    udp_.async_receive_from(asio::buffer(in_), from_, [this](std::error_code error, std::size_t size) {
      if (error == asio::error::operation_aborted) return;
      if (!error) take(size);
      receive();
    });
  }
  void take(std::size_t size) {
    wire::DatagramHeader header;
    if (!opener_ || wire::read_header({in_.data(), size}, header) != wire::HeaderError::none) return;
    if (header.session != session_ || !opener_->open_datagram(in_.data(), size)) return;
    if (!window_.accept(header.sequence)) {
      ++replays_refused;
      return;
    }
    peer_ = from_;
    bound_ = true;
    echo_sequence_ = header.sequence;
    const void* body = in_.data() + wire::kHeaderBytes;
    const int length = static_cast<int>(size - wire::kHeaderBytes - wire::kMacBytes);
    if (header.type == wire::DatagramType::command) {
      v1::CommandPacket command;
      if (command.ParseFromArray(body, length) && command.body_id_size() > 0) judge(header.sequence, command);
    } else if (header.type == wire::DatagramType::ping) {
      v1::Ping ping;
      v1::Pong pong;
      if (!ping.ParseFromArray(body, length)) return;
      pong.set_client_send_ns(ping.client_send_ns());
      const std::int64_t ahead = 5'000'000'000;  // this server's clock
      pong.set_server_recv_ns(static_cast<std::uint64_t>(client::now_ns() + ahead));
      pong.set_server_send_ns(static_cast<std::uint64_t>(client::now_ns() + ahead));
      send(wire::DatagramType::pong, pong);
    } else if (header.type == wire::DatagramType::grant) {
      v1::GrantPacket grant;
      if (!grant.ParseFromArray(body, length)) return;
      if (++grants == 1) return;  // the first one is lost, so that the client must repeat it
      run_to(grant.run_to_tick());
      publish();
    }
  }
  void judge(std::uint64_t sequence, const v1::CommandPacket& command) {
    ++commands;
    int code = v1::VERDICT_APPLIED;
    if (command.scene_epoch() != epoch_)
      code = v1::VERDICT_REFUSED_STALE_EPOCH;
    else if (!leased_.count("body/body" + std::to_string(command.body_id(0)) + "/wrench"))
      code = v1::VERDICT_REFUSED_NOT_LEASED;
    if (code == v1::VERDICT_APPLIED) {
      force = command.wrench(0);
      if (command.wrench(0) == 0) ++zeros;
    }
    verdicts_.push_front({sequence, code});
    if (verdicts_.size() > 8) verdicts_.pop_back();
  }
  void run_to(std::uint64_t tick) {
    while (tick_ < tick) {
      ++tick_;
      x_ += force * 1e-3;
    }
  }
  void tick() {
    timer_.expires_after(std::chrono::milliseconds(1));
    timer_.async_wait([this](std::error_code error) {
      if (error) return;
      if (!lockstep) {
        run_to(tick_ + 1);
        publish();
      }
      tick();
    });
  }
  v1::StatePacket packet(unsigned part, unsigned parts) {
    v1::StatePacket p;
    p.set_scene_epoch(epoch_);
    p.set_tick(tick_);
    p.set_part(part);
    p.set_parts(parts);
    p.set_sim_time_s(1e-3 * static_cast<double>(tick_));
    p.set_tick_start_ns(static_cast<std::uint64_t>(client::now_ns() + 5'000'000'000));
    p.set_subscription(7);
    p.set_echo_sequence(echo_sequence_);
    for (unsigned i = 0; i < 3; ++i) {
      if (i % parts != part) continue;
      p.add_body_id(i);
      for (const double x : {i == 0 ? x_ : static_cast<double>(i), 0.0, 0.0, 1.0, 0.0, 0.0, 0.0}) p.add_pose(x);
    }
    for (const auto& [sequence, code] : verdicts_) {
      p.add_verdict_sequence(sequence);
      p.add_verdict_code(static_cast<std::uint32_t>(code));
      p.add_verdict_tick(tick_);
      p.add_verdict_age_us(10);
      p.add_verdict_item(0);
    }
    return p;
  }
  void publish() {
    if (!subscribed_ || !bound_) return;
    const unsigned parts = faults.parts;
    const std::uint64_t start = static_cast<std::uint64_t>(client::now_ns() + 5'000'000'000);
    for (unsigned i = 0; i < parts; ++i) {
      const unsigned part = faults.shuffle ? parts - 1 - i : i;
      v1::StatePacket p = packet(part, parts);
      p.set_tick_start_ns(start);
      if (faults.drop_last_part && part == parts - 1 && tick_ % 2 == 0) {
        ++sequence_;  // sent, but lost on the way
        continue;
      }
      send(wire::DatagramType::state, p);
    }
    if (faults.forged) {
      v1::StatePacket p = packet(0, 1);
      p.set_pose(0, 1e6);
      send(wire::DatagramType::state, p, true);
    }
  }
  void send(wire::DatagramType type, const google::protobuf::MessageLite& message, bool forge = false) {
    wire::write_header(out_.data(), {type, session_, forge ? sequence_ + 1 : ++sequence_});
    const std::string bytes = message.SerializeAsString();
    std::copy(bytes.begin(), bytes.end(), out_.begin() + wire::kHeaderBytes);
    const std::size_t size = sealer_->seal_datagram(out_.data(), wire::kHeaderBytes + bytes.size());
    if (forge) out_[size - 1] ^= 1;
    std::error_code ignored;
    for (int i = 0; i < (faults.repeat ? 2 : 1); ++i) udp_.send_to(asio::buffer(out_.data(), size), peer_, 0, ignored);
  }

  asio::io_context io_;
  asio::ip::tcp::acceptor acceptor_;
  asio::ip::udp::socket udp_;
  asio::ip::tcp::socket tcp_;
  asio::steady_timer timer_, loading_;
  asio::ip::udp::endpoint from_, peer_;
  client::ControlCodec codec_{'S'};
  std::optional<wire::Sealer> sealer_, opener_;
  wire::Nonce mine_{}, theirs_{};
  wire::Key key_{};
  std::array<std::uint8_t, 4> prefix_{};
  std::vector<std::uint8_t> body_;
  std::array<std::uint8_t, 2048> in_{}, out_{};
  client::ReplayWindow window_;
  std::uint32_t session_ = 100, epoch_ = 0;
  std::uint64_t sequence_ = 0, tick_ = 0, echo_sequence_ = 0;
  bool subscribed_ = false, bound_ = false;
  double x_ = 0;
  std::set<std::string> leased_;
  std::deque<std::pair<std::uint64_t, int>> verdicts_;
  std::thread thread_;
};

}  // namespace tactus::testing
