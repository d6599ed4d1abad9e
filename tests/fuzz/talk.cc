#include "tests/fuzz/talk.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "control.pb.h"
#include "proto/cpp/ranges.h"
#include "proto/cpp/wire.h"
#include "realtime.pb.h"

namespace tactus::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kTalkMost = 64;

std::unique_ptr<Message> make_message(std::uint8_t door) {
  switch (door) {
    case kControl:
      return std::make_unique<v1::Request>();
    case static_cast<std::uint8_t>(wire::DatagramType::command):
      return std::make_unique<v1::CommandPacket>();
    case static_cast<std::uint8_t>(wire::DatagramType::device):
      return std::make_unique<v1::DevicePacket>();
    case static_cast<std::uint8_t>(wire::DatagramType::grant):
      return std::make_unique<v1::GrantPacket>();
    case static_cast<std::uint8_t>(wire::DatagramType::ping):
      return std::make_unique<v1::Ping>();
    default:
      return nullptr;
  }
}

std::size_t pick(Random& random, std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

const wire::Range* find_range(const FieldDescriptor& field) {
  const std::string name = field.containing_type()->name() + "." + field.name();
  const auto row = std::find_if(wire::kRanges.begin(), wire::kRanges.end(),
                                [&name](const wire::Range& range) { return range.field == name; });
  return row == wire::kRanges.end() ? nullptr : &*row;
}

// At the ends of the range, beyond, within, and what no range has.
double number_for(const FieldDescriptor& field, Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const wire::Range* range = find_range(field);
  const double low = range == nullptr ? 0 : range->low, high = range == nullptr || range->high == 0 ? 8 : range->high;
  const double within = low + (high - low) * std::uniform_real_distribution<double>(0, 1)(random);
  if (pick(random, 2) == 0) return within;  // one number beyond its range spoils its whole message
  const std::array<double, 16> values{low,
                                      high,
                                      std::nextafter(low, -kInfinity),
                                      std::nextafter(high, kInfinity),
                                      low - 1,
                                      high + 1,
                                      0,
                                      1,
                                      2,
                                      within,
                                      within / 1e3,
                                      1e-300,
                                      1e300,
                                      std::numeric_limits<double>::quiet_NaN(),
                                      kInfinity,
                                      -kInfinity};
  return values[pick(random, values.size())];
}

template <class Whole>
Whole whole_for(const FieldDescriptor& field, Random& random) {
  if (field.name() == "scene_epoch" && pick(random, 8) > 0) return 1;  // the present one
  if (pick(random, 16) == 0) return std::numeric_limits<Whole>::max();
  const double x = number_for(field, random);
  if (!(x > 0)) return 0;
  return x >= static_cast<double>(std::numeric_limits<Whole>::max()) ? std::numeric_limits<Whole>::max()
                                                                     : static_cast<Whole>(x);
}

std::string text_for(const FieldDescriptor& field, Random& random) {
  static const std::vector<std::string> words{"",
                                              "*",
                                              "block",
                                              "ball",
                                              "arm",
                                              "arm/elbow",
                                              "session",
                                              "arm/encoder",
                                              "world",
                                              "tool/block",
                                              "body/ball/wrench",
                                              "joint/arm/*",
                                              "st",
                                              "lcp",
                                              "penalty",
                                              "peg",
                                              "ap",
                                              "deepest",
                                              "lnc",
                                              "lcp_stepper",
                                              "exact",
                                              "alpha",
                                              "1e-300",
                                              "nan",
                                              "nothing",
                                              "a b",
                                              "gravity_m_per_s2",
                                              "0,0,-1e9",
                                              "hold",
                                              "brake",
                                              "extrapolate"};
  const wire::Range* range = find_range(field);
  if (range != nullptr && range->high < 1e4 && pick(random, 8) == 0)
    return std::string(static_cast<std::size_t>(range->high) + pick(random, 2), 'x');
  return words[pick(random, words.size())];
}

void set_value(Message& m, const FieldDescriptor* f, int i, Random& random) {
  const auto& r = *m.GetReflection();
  const bool one = i < 0;
  switch (f->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double x = number_for(*f, random);
      return one ? r.SetDouble(&m, f, x) : r.SetRepeatedDouble(&m, f, i, x);
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      const double x = number_for(*f, random);
      const auto narrow = static_cast<float>(std::clamp(x, -1e30, 1e30));
      return one ? r.SetFloat(&m, f, narrow) : r.SetRepeatedFloat(&m, f, i, narrow);
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto x = whole_for<std::uint32_t>(*f, random);
      return one ? r.SetUInt32(&m, f, x) : r.SetRepeatedUInt32(&m, f, i, x);
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const auto x = whole_for<std::uint64_t>(*f, random);
      return one ? r.SetUInt64(&m, f, x) : r.SetRepeatedUInt64(&m, f, i, x);
    }
    case FieldDescriptor::CPPTYPE_ENUM:
      return one ? r.SetEnumValue(&m, f, static_cast<int>(pick(random, 6))) : void();
    case FieldDescriptor::CPPTYPE_BOOL:
      return one ? r.SetBool(&m, f, !r.GetBool(m, f)) : void();
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = text_for(*f, random);
      return one ? r.SetString(&m, f, text) : r.SetRepeatedString(&m, f, i, text);
    }
    default:
      return;
  }
}

void add_value(Message& m, const FieldDescriptor* f) {
  const auto& r = *m.GetReflection();
  switch (f->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return r.AddDouble(&m, f, 0);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return r.AddFloat(&m, f, 0);
    case FieldDescriptor::CPPTYPE_UINT32:
      return r.AddUInt32(&m, f, 0);
    case FieldDescriptor::CPPTYPE_STRING:
      return r.AddString(&m, f, "");
    default:
      return;
  }
}

// One value of a message, or of one in it. Which body a request has stays, if it has one.
void change_field(Message& m, Random& random) {
  const auto& r = *m.GetReflection();
  const google::protobuf::Descriptor& d = *m.GetDescriptor();
  if (d.field_count() == 0) return;
  const FieldDescriptor* f = d.field(static_cast<int>(pick(random, static_cast<std::size_t>(d.field_count()))));
  if (d.oneof_decl_count() > 0 && !d.oneof_decl(0)->is_synthetic() && pick(random, 16) > 0) {
    if (const FieldDescriptor* body = r.GetOneofFieldDescriptor(m, d.oneof_decl(0))) f = body;
  }
  const bool message = f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (f->is_repeated() && message) {
    if (r.FieldSize(m, f) < 4) r.AddMessage(&m, f);
    return change_field(*r.MutableRepeatedMessage(&m, f, 0), random);
  }
  if (message) return change_field(*r.MutableMessage(&m, f), random);
  if (!f->is_repeated()) return set_value(m, f, -1, random);
  const int size = r.FieldSize(m, f);
  if (size == 0 || pick(random, 8) == 0) {
    if (size > 0 && pick(random, 2) == 0) return r.RemoveLast(&m, f);
    add_value(m, f);
  }
  if (r.FieldSize(m, f) > 0)
    set_value(m, f, static_cast<int>(pick(random, static_cast<std::size_t>(r.FieldSize(m, f)))), random);
}

Sent copy_of(const Sent& sent) {
  Sent out{sent.door, std::unique_ptr<Message>(sent.message->New())};
  out.message->CopyFrom(*sent.message);
  return out;
}

Sent fresh(Random& random) {
  constexpr std::array<std::uint8_t, 8> kDoors{kControl, kControl, kControl, kControl, 2, 8, 5, 3};
  Sent out;
  out.door = kDoors[pick(random, kDoors.size())];
  out.message = make_message(out.door);
  if (out.door == kControl) static_cast<v1::Request&>(*out.message).set_id(9);
  for (int i = 0; i < 4; ++i) change_field(*out.message, random);
  return out;
}

void change_once(Talk& talk, Random& random) {
  const std::size_t i = talk.empty() ? 0 : pick(random, talk.size()), what = talk.empty() ? 9 : pick(random, 12);
  const auto at = talk.begin() + static_cast<std::ptrdiff_t>(i);
  if (what < 7) return change_field(*talk[i].message, random);
  if (what == 7 && talk.size() > 1) {
    talk.erase(at);
  } else if (what == 8) {
    std::swap(talk[i], talk[pick(random, talk.size())]);
  } else if (talk.size() < kTalkMost) {
    Sent added = what == 9 ? fresh(random) : copy_of(talk[i]);
    talk.insert(talk.empty() ? talk.end() : at, std::move(added));
  }
}

}  // namespace

Talk read_talk(std::span<const std::uint8_t> bytes) {
  Talk out;
  while (bytes.size() >= 5 && out.size() < kTalkMost) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length |= static_cast<std::size_t>(bytes[1 + i]) << (8 * i);
    if (length > bytes.size() - 5) break;
    Sent sent{bytes[0], make_message(bytes[0])};
    if (sent.message != nullptr && sent.message->ParseFromArray(bytes.data() + 5, static_cast<int>(length)))
      out.push_back(std::move(sent));
    bytes = bytes.subspan(5 + length);
  }
  return out;
}

std::string write_talk(const Talk& talk, std::size_t most) {
  std::string out;
  for (const Sent& sent : talk) {
    const std::string payload = sent.message->SerializePartialAsString();
    if (out.size() + 5 + payload.size() > most) continue;
    out.push_back(static_cast<char>(sent.door));
    for (std::size_t i = 0; i < 4; ++i) out.push_back(static_cast<char>(payload.size() >> (8 * i)));
    out += payload;
  }
  return out;
}

void change(Talk& talk, Random& random) {
  const std::size_t times = 1 + pick(random, 4);
  for (std::size_t i = 0; i < times; ++i) change_once(talk, random);
}

}  // namespace tactus::fuzz
