// `tactus export`: a recording as CSV, or as the arrays of a NumPy .npz file.
#include "clients/cli/export.h"

#include <zlib.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "clients/cli/commands.h"
#include "clients/cli/json.h"
#include "proto/cpp/record_file.h"
#include "tactus/client.h"

namespace tactus::cli {
namespace {

[[noreturn]] void cannot_write(const std::string& path) {
  throw client::Error(client::Error::Kind::usage, "cannot write " + path);
}

// An array of doubles, row by row; its shape but for the number of rows, which follows.
struct Array {
  std::string name;
  std::vector<std::size_t> row;
  std::vector<double> values;
};

// The .npy format, version 1: magic, length of the header, a Python dictionary padded to 64 bytes, then the numbers.
std::string npy(const Array& array) {
  std::size_t row = 1;
  for (const std::size_t n : array.row) row *= n;
  const std::size_t rows = row == 0 ? 0 : array.values.size() / row;
  std::string shape = std::to_string(rows) + ",";
  for (const std::size_t n : array.row) shape += " " + std::to_string(n) + ",";
  std::string dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + shape + "), }";
  dictionary.append(63 - (10 + dictionary.size()) % 64, ' ');
  dictionary += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(dictionary.size() & 0xff);
  out += static_cast<char>(dictionary.size() >> 8);
  out += dictionary;
  out.append(reinterpret_cast<const char*>(array.values.data()), array.values.size() * sizeof(double));
  return out;
}

template <typename Number>
void put(std::string& out, Number x) {
  for (std::size_t i = 0; i < sizeof x; ++i) out += static_cast<char>(static_cast<std::uint64_t>(x) >> (8 * i) & 0xff);
}

// A ZIP archive whose members are stored as they are: what numpy.savez writes. At most 4 GiB (its classic form).
class Archive {
 public:
  explicit Archive(const std::string& path) : file_(path, std::ios::binary), path_(path) {
    if (!file_) cannot_write(path);
  }
  void add(const std::string& name, const std::string& bytes) {
    std::string head;
    const auto crc = static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
    if (at_ + bytes.size() > 0xfff00000u)
      throw client::Error(client::Error::Kind::usage, path_ + ": more than 4 GiB: use --csv, or record fewer states");
    put_common(head, crc, bytes.size(), name.size());
    put(central_, std::uint32_t{0x02014b50});
    put(central_, std::uint16_t{20});
    put_common(central_, crc, bytes.size(), name.size());
    put(central_, std::uint16_t{0});  // no comment
    put(central_, std::uint32_t{0});
    put(central_, std::uint32_t{0});
    put(central_, static_cast<std::uint32_t>(at_));
    central_ += name;
    std::string local;
    put(local, std::uint32_t{0x04034b50});
    local += head + name;
    file_ << local << bytes;
    at_ += local.size() + bytes.size();
    ++members_;
  }
  void finish() {
    std::string end;
    put(end, std::uint32_t{0x06054b50});
    put(end, std::uint32_t{0});
    put(end, members_);
    put(end, members_);
    put(end, static_cast<std::uint32_t>(central_.size()));
    put(end, static_cast<std::uint32_t>(at_));
    put(end, std::uint16_t{0});
    file_ << central_ << end;
    file_.flush();
    if (!file_) cannot_write(path_);
  }

 private:
  // What a member's head and its entry of the directory have in common.
  static void put_common(std::string& out, std::uint32_t crc, std::size_t size, std::size_t name) {
    for (const std::uint16_t x : {20, 0, 0, 0, 0x21}) put(out, x);  // version, flags, stored, time, date 1980-01-01
    put(out, crc);
    put(out, static_cast<std::uint32_t>(size));
    put(out, static_cast<std::uint32_t>(size));
    put(out, static_cast<std::uint16_t>(name));
    put(out, std::uint16_t{0});
  }
  std::ofstream file_;
  std::string path_, central_;
  std::uint64_t at_ = 0;
  std::uint16_t members_ = 0;
};

// All states as arrays; what acted on bodies by tick.
class Arrays {
 public:
  Arrays(std::size_t bodies, std::size_t joints)
      : bodies_(bodies),
        arrays_{{{"tick", {}, {}},
                 {"time_s", {}, {}},
                 {"pose", {bodies, 7}, {}},
                 {"velocity", {bodies, 6}, {}},
                 {"wrench", {bodies, 6}, {}},
                 {"joint_q", {joints}, {}},
                 {"joint_v", {joints}, {}},
                 {"joint_effort", {joints}, {}},
                 {"kinetic_energy_j", {}, {}},
                 {"penetration_max_m", {}, {}},
                 {"contacts", {}, {}},
                 {"work_us", {}, {}}}},
        joints_(joints) {}
  void add(const v1::StatePacket& s) {
    const bool fits = s.pose_size() == static_cast<int>(7 * bodies_) &&
                      s.velocity_size() == static_cast<int>(6 * bodies_) && s.joint_size() == 4 * s.joint_id_size() &&
                      s.joint_id_size() <= static_cast<int>(joints_);
    if (!fits) return;
    rows_[s.tick()] = arrays_[0].values.size();
    arrays_[0].values.push_back(static_cast<double>(s.tick()));
    arrays_[1].values.push_back(s.sim_time_s());
    arrays_[2].values.insert(arrays_[2].values.end(), s.pose().begin(), s.pose().end());
    arrays_[3].values.insert(arrays_[3].values.end(), s.velocity().begin(), s.velocity().end());
    arrays_[4].values.resize(arrays_[4].values.size() + 6 * bodies_);
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t i = 0; i < joints_; ++i)
        arrays_[5 + k].values.push_back(
            i < static_cast<std::size_t>(s.joint_id_size()) ? s.joint(static_cast<int>(4 * i + k)) : 0.0);
    arrays_[8].values.push_back(s.kinetic_energy_j());
    arrays_[9].values.push_back(s.penetration_max_m());
    arrays_[10].values.push_back(s.contacts());
    arrays_[11].values.push_back(s.work_us());
  }
  // Of a tick whose state was added.
  void add(const v1::AppliedWrench& w) {
    const auto row = rows_.find(w.tick());
    if (row == rows_.end() || w.body_id() >= bodies_ || w.wrench_size() != 6) return;
    double* out = &arrays_[4].values[6 * (row->second * bodies_ + w.body_id())];
    for (int k = 0; k < 6; ++k) out[k] += w.wrench(k);
  }
  void write(const std::string& path) const {
    Archive archive(path);
    for (const Array& array : arrays_) archive.add(array.name + ".npy", npy(array));
    archive.finish();
  }
  [[nodiscard]] std::size_t states() const { return arrays_[0].values.size(); }

 private:
  std::size_t bodies_;
  std::array<Array, 12> arrays_;
  std::size_t joints_;
  std::map<std::uint64_t, std::size_t> rows_;  // of a tick's last state
};

// Two passes over the file. Throws when it is no recording; gives the damage.
template <typename First, typename Second>
std::string read_twice(const std::string& path, v1::RecordHeader& header, First first, Second second) {
  std::string damage;
  for (int pass = 0; pass < 2; ++pass) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw client::Error(client::Error::Kind::usage, "cannot read " + path);
    wire::RecordReader reader(in);
    v1::Record record;
    while (reader.next(record)) {
      if (record.has_header()) header = record.header();
      pass == 0 ? first(record) : second(record);
    }
    if (reader.records() == 0) throw client::Error(client::Error::Kind::usage, path + ": " + reader.damage());
    damage = reader.damage();
  }
  return damage;
}

}  // namespace

CsvTable::CsvTable(const std::string& path) : file_(path), path_(path) {
  if (!file_) cannot_write(path);
  file_.precision(17);
  file_ << "tick,sim_time_s,body,p_x_m,p_y_m,p_z_m,q_w,q_x,q_y,q_z,v_x_m_per_s,v_y_m_per_s,v_z_m_per_s,w_x_rad_per_s,"
           "w_y_rad_per_s,w_z_rad_per_s,force_x_n,force_y_n,force_z_n,torque_x_n_m,torque_y_n_m,torque_z_n_m\n";
}
void CsvTable::first_pass(const v1::Record& record) {
  if (!record.has_wrench() || record.wrench().wrench_size() != 6) return;
  const v1::AppliedWrench& w = record.wrench();
  std::copy_n(w.wrench().begin(), 6, applied_[{w.tick(), w.body_id()}].begin());
}
void CsvTable::second_pass(const v1::RecordHeader& header, const v1::Record& record) {
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
void CsvTable::finish() {
  file_.flush();
  if (!file_) cannot_write(path_);
}

int run_export(const Common& common, const ExportOptions& options) {
  v1::RecordHeader header;
  std::string damage;
  std::size_t states = 0;
  const std::unique_ptr<CsvTable> csv = options.csv.empty() ? nullptr : std::make_unique<CsvTable>(options.csv);
  std::unique_ptr<Arrays> arrays;
  damage = read_twice(
      options.file, header,
      [&](const v1::Record& record) {
        if (record.has_header()) arrays = std::make_unique<Arrays>(header.bodies_size(), header.joints_size());
        if (csv) csv->first_pass(record);
        if (!record.has_state()) return;
        ++states;
        if (!options.npz.empty()) arrays->add(record.state());
      },
      [&](const v1::Record& record) {
        if (csv) csv->second_pass(header, record);
        if (record.has_wrench() && !options.npz.empty()) arrays->add(record.wrench());
      });
  if (csv) csv->finish();
  if (!options.npz.empty()) arrays->write(options.npz);
  if (common.json) {
    Json json;
    json.open('{').field("states", static_cast<std::uint64_t>(states)).field("damage", damage).close('}');
    std::printf("%s\n", json.text().c_str());
  } else {
    std::printf("%zu states of %d bodies and %d joints\n", states, header.bodies_size(), header.joints_size());
    if (!damage.empty()) std::printf("damaged: %s\n", damage.c_str());
  }
  return damage.empty() ? 0 : 1;
}

}  // namespace tactus::cli
