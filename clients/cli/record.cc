// `tactus blackbox save, show` and `tactus record --black-box`: has the server write its last seconds, and reads such
// files.
#include <array>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>

#include "clients/cli/commands.h"
#include "clients/cli/json.h"
#include "proto/record_file.h"

namespace tactus::cli {
namespace {

// What a summary says.
struct Summary {
  v1::RecordHeader header;
  v1::RecordEnd end;
  std::map<std::string, std::uint64_t> verdicts;  // by name
  std::vector<std::string> notes;                 // operations, events, marks worth a line
  std::uint64_t states = 0, wrenches = 0, keyframes = 0, commands = 0, first_tick = 0, last_tick = 0, records = 0;
  double first_s = 0, last_s = 0;
  std::string damage;
};

std::string verdict_name(std::uint32_t code) {
  std::string name = v1::VerdictCode_Name(static_cast<v1::VerdictCode>(code));
  return name.empty() ? "CODE_" + std::to_string(code) : name.substr(sizeof "VERDICT_" - 1);
}

void add_state(Summary& s, const v1::StatePacket& state) {
  if (s.states++ == 0) s.first_tick = state.tick(), s.first_s = state.sim_time_s();
  s.last_tick = state.tick();
  s.last_s = state.sim_time_s();
}

void add(Summary& s, const v1::Record& record) {
  const auto note = [&s](std::uint64_t tick, const std::string& text) {
    s.notes.push_back("tick " + std::to_string(tick) + ": " + text);
  };
  if (record.has_header()) s.header = record.header();
  if (record.has_state()) add_state(s, record.state());
  if (record.has_wrench()) ++s.wrenches;
  if (record.has_keyframe()) ++s.keyframes;
  if (record.has_command()) ++s.commands;
  if (record.has_verdict()) ++s.verdicts[verdict_name(record.verdict().code())];
  if (record.has_end()) s.end = record.end();
  if (record.has_operation()) {
    const v1::WorldOperation& o = record.operation();
    note(o.tick(), o.what() + (o.text().empty() ? "" : " " + o.text()) + " by " + o.client());
  }
  if (record.has_mark() &&
      (record.mark().kind() == v1::TickMark::BODY_FROZEN || record.mark().kind() == v1::TickMark::FAULT)) {
    const std::uint32_t b = record.mark().body_id();
    const bool body = record.mark().kind() == v1::TickMark::BODY_FROZEN && b < std::uint32_t(s.header.bodies_size());
    note(record.mark().tick(), v1::TickMark::Kind_Name(record.mark().kind()) +
                                   (body ? " " + s.header.bodies(static_cast<int>(b)) : std::string()));
  }
}

// One row per state and body, with what was commanded in that tick, which may stand before or after it in the file.
class Table {
 public:
  explicit Table(const std::string& path) : file_(path), path_(path) {
    if (!file_) throw client::Error(client::Error::Kind::usage, "cannot write " + path);
    file_.precision(17);
    file_ << "tick,sim_time_s,body,p_x_m,p_y_m,p_z_m,q_w,q_x,q_y,q_z,v_x_m_per_s,v_y_m_per_s,v_z_m_per_s,w_x_rad_per_s,"
             "w_y_rad_per_s,w_z_rad_per_s,force_x_n,force_y_n,force_z_n,torque_x_n_m,torque_y_n_m,torque_z_n_m\n";
  }
  void first_pass(const v1::Record& record) {
    if (!record.has_wrench() || record.wrench().wrench_size() != 6) return;
    const v1::AppliedWrench& w = record.wrench();
    std::copy_n(w.wrench().begin(), 6, applied_[{w.tick(), w.body_id()}].begin());
  }
  void second_pass(const v1::RecordHeader& header, const v1::Record& record) {
    if (!record.has_state()) return;
    const v1::StatePacket& s = record.state();
    const int n = s.body_id_size();
    if (s.pose_size() != 7 * n || s.velocity_size() != 6 * n) return;
    for (int i = 0; i < n; ++i) {
      const std::uint32_t b = s.body_id(i);
      file_ << s.tick() << ',' << s.sim_time_s() << ',';
      if (b < static_cast<std::uint32_t>(header.bodies_size()))
        file_ << header.bodies(static_cast<int>(b));
      else
        file_ << '#' << b;
      for (int k = 0; k < 7; ++k) file_ << ',' << s.pose(7 * i + k);
      for (int k = 0; k < 6; ++k) file_ << ',' << s.velocity(6 * i + k);
      const auto acted = applied_.find({s.tick(), b});
      for (std::size_t k = 0; k < 6; ++k) file_ << ',' << (acted == applied_.end() ? 0.0 : acted->second[k]);
      file_ << '\n';
    }
  }
  void finish() {
    file_.flush();
    if (!file_) throw client::Error(client::Error::Kind::usage, "cannot write " + path_);
  }

 private:
  std::ofstream file_;
  std::string path_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::array<double, 6>> applied_;
};

// Throws when it is no recording at all.
Summary read_file(const std::string& path, Table* table) {
  Summary summary;
  for (int pass = 0; pass < (table == nullptr ? 1 : 2); ++pass) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw client::Error(client::Error::Kind::usage, "cannot read " + path);
    wire::RecordReader reader(in);
    v1::Record record;
    while (reader.next(record)) {
      if (pass == 0) add(summary, record);
      if (table != nullptr && pass == 0) table->first_pass(record);
      if (table != nullptr && pass == 1) table->second_pass(summary.header, record);
    }
    summary.records = reader.records();
    summary.damage = reader.damage();
    if (reader.records() == 0)
      throw client::Error(client::Error::Kind::usage,
                          path + ": not a recording of Tactus" + (reader.damaged() ? ": " + reader.damage() : ""));
    if (!reader.damaged() && summary.end.records() == 0)
      summary.damage = "cut off at byte " + std::to_string(reader.offset()) + ": there is no end";
  }
  return summary;
}

void print(const Summary& s) {
  std::printf("scene %s (epoch %u), model %s, step %g s, %d bodies\nwritten by %s: %s\n", s.header.scene_name().c_str(),
              s.header.scene_epoch(), s.header.model().c_str(), s.header.step_s(), s.header.bodies_size(),
              s.header.build().c_str(), s.header.reason().c_str());
  std::printf("%" PRIu64 " states, one in %u ticks: tick %" PRIu64 " (%.3f s) to %" PRIu64 " (%.3f s)\n", s.states,
              std::max(1u, s.header.state_every()), s.first_tick, s.first_s, s.last_tick, s.last_s);
  std::printf("%" PRIu64 " commands, %" PRIu64 " applied wrenches, %" PRIu64 " whole states\nverdicts:", s.commands,
              s.wrenches, s.keyframes);
  for (const auto& [name, count] : s.verdicts) std::printf(" %s %" PRIu64, name.c_str(), count);
  std::printf("%s\n", s.verdicts.empty() ? " none" : "");
  for (const std::string& note : s.notes) std::printf("%s\n", note.c_str());
  if (s.end.states_lost() + s.end.rows_lost() + s.end.bytes_overtaken() > 0)
    std::printf("lost: %" PRIu64 " states, %" PRIu64 " rows, %" PRIu64 " bytes while writing\n", s.end.states_lost(),
                s.end.rows_lost(), s.end.bytes_overtaken());
  std::printf("%s%s\n", s.damage.empty() ? "complete" : "damaged: ", s.damage.c_str());
}

void print_json(const Summary& s) {
  Json json;
  json.open('{').field("scene", s.header.scene_name()).field("model", s.header.model());
  json.field("build", s.header.build()).field("reason", s.header.reason()).field("step_s", s.header.step_s());
  json.field("bodies", static_cast<std::uint64_t>(s.header.bodies_size())).field("records", s.records);
  json.field("states", s.states).field("first_tick", s.first_tick).field("last_tick", s.last_tick);
  json.field("commands", s.commands).field("applied_wrenches", s.wrenches).field("keyframes", s.keyframes);
  json.open('{', "verdicts");
  for (const auto& [name, count] : s.verdicts) json.field(name, count);
  json.close('}').field("states_lost", s.end.states_lost()).field("rows_lost", s.end.rows_lost());
  json.field("bytes_overtaken", s.end.bytes_overtaken()).field("damage", s.damage).close('}');
  std::printf("%s\n", json.text().c_str());
}

}  // namespace

int run_blackbox_save(const Common& common, const BlackBoxOptions& options) {
  client::Client client(client_options(common, "blackbox"));
  v1::Request request;
  request.mutable_save_black_box()->set_reason(options.reason);
  const v1::BlackBoxSaved saved = client.request(std::move(request)).black_box();
  if (common.json) {
    Json json;
    json.open('{').field("path", saved.path()).field("bytes", saved.bytes()).field("records", saved.records());
    json.field("first_tick", saved.first_tick()).field("last_tick", saved.last_tick()).close('}');
    std::printf("%s\n", json.text().c_str());
  } else {
    std::printf("ticks %" PRIu64 " to %" PRIu64 ", %" PRIu64 " records in %" PRIu64 " bytes, on the server: %s\n",
                saved.first_tick(), saved.last_tick(), saved.records(), saved.bytes(), saved.path().c_str());
  }
  return 0;
}

int run_blackbox_show(const Common& common, const BlackBoxOptions& options) {
  const std::unique_ptr<Table> table = options.csv.empty() ? nullptr : std::make_unique<Table>(options.csv);
  const Summary summary = read_file(options.file, table.get());
  if (table) table->finish();
  common.json ? print_json(summary) : print(summary);
  return summary.damage.empty() ? 0 : 1;
}

}  // namespace tactus::cli
