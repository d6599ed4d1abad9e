#include "proto/cpp/ranges.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <unordered_map>

namespace tactus::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string number(double x) {
  std::array<char, 40> out{};
  char *begin = out.data(), *end = begin + out.size();
  const bool whole = std::abs(x) < 1e16 && x == std::floor(x);
  end = whole ? std::to_chars(begin, end, static_cast<long long>(x)).ptr : std::to_chars(begin, end, x).ptr;
  return {begin, end};
}

const Range* find_range(const FieldDescriptor* field) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const Range*> out;
    for (const Range& range : kRanges) out.emplace(range.field, &range);
    return out;
  }();
  const auto row = rows.find(field->containing_type()->name() + "." + field->name());
  return row == rows.end() ? nullptr : row->second;
}

bool is_plain(unsigned char c) {
  return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
}

std::string check(const Range& range, double x) {
  return range.holds(x) || range.beyond == Beyond::cut ? std::string() : number(x);
}

std::string check(const Range& range, const std::string& text) {
  const auto size = static_cast<double>(text.size());
  if (text.empty() && !range.zero.empty()) return {};
  if (!(size >= range.low && size <= range.high)) return number(size) + " bytes";
  if (range.kind == RangeKind::name && !std::all_of(text.begin(), text.end(), is_plain)) return "other characters";
  return {};
}

// One value of a field; `i` < 0: the field is not repeated.
std::string check(const Range& range, const Message& m, const FieldDescriptor* f, int i) {
  const auto& r = *m.GetReflection();
  const auto cast = [](auto x) { return static_cast<double>(x); };
  switch (f->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return check(range, i < 0 ? r.GetDouble(m, f) : r.GetRepeatedDouble(m, f, i));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return check(range, cast(i < 0 ? r.GetFloat(m, f) : r.GetRepeatedFloat(m, f, i)));
    case FieldDescriptor::CPPTYPE_UINT32:
      return check(range, cast(i < 0 ? r.GetUInt32(m, f) : r.GetRepeatedUInt32(m, f, i)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return check(range, cast(i < 0 ? r.GetUInt64(m, f) : r.GetRepeatedUInt64(m, f, i)));
    case FieldDescriptor::CPPTYPE_ENUM:
      return check(range, cast(i < 0 ? r.GetEnumValue(m, f) : r.GetRepeatedEnumValue(m, f, i)));
    case FieldDescriptor::CPPTYPE_STRING:
      return check(range, i < 0 ? r.GetString(m, f) : r.GetRepeatedString(m, f, i));
    default:
      return "a type without ranges";
  }
}

std::string check_message(const Message& m, const FieldDescriptor* f, int i) {
  const auto& r = *m.GetReflection();
  std::string inner = out_of_range(i < 0 ? r.GetMessage(m, f) : r.GetRepeatedMessage(m, f, i));
  return inner.empty() ? inner : f->name() + (i < 0 ? "" : "[" + std::to_string(i) + "]") + "." + inner;
}

// All values of a field, or that there are too many.
std::string check_field(const Message& m, const FieldDescriptor* f) {
  const auto& r = *m.GetReflection();
  const bool message = f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!f->is_repeated() && f->has_presence() && !r.HasField(m, f)) return {};
  if (!f->is_repeated() && message) return check_message(m, f, -1);
  const Range* range = find_range(f);
  if (range == nullptr) return f->name() + ": a field without a range";
  const int count = f->is_repeated() ? r.FieldSize(m, f) : 1;
  if (f->is_repeated() && count > static_cast<int>(range->most))
    return f->name() + ": found " + std::to_string(count) + " of them, expected at most " + std::to_string(range->most);
  for (int k = 0; k < count; ++k) {
    const int i = f->is_repeated() ? k : -1;
    if (message) {
      if (std::string fault = check_message(m, f, i); !fault.empty()) return fault;
    } else if (range->kind != RangeKind::any) {
      const std::string found = check(*range, m, f, i);
      if (!found.empty()) return f->name() + ": found " + found + ", expected " + to_text(*range);
    }
  }
  return {};
}

}  // namespace

std::string to_text(const Range& range) {
  std::string out;
  if (range.kind == RangeKind::any) return "any value";
  if (range.kind == RangeKind::rows) return "at most " + std::to_string(range.most);
  const bool counted = range.kind == RangeKind::text || range.kind == RangeKind::bytes;
  if (range.kind == RangeKind::name) {
    out = "[A-Za-z0-9_.-]{" + number(range.low) + "," + number(range.high) + "}";
  } else {
    out = range.low == range.high ? number(range.low) : number(range.low) + " to " + number(range.high);
  }
  if (counted) out += " bytes";
  if (!range.zero.empty())
    out += (range.kind == RangeKind::name ? ", or empty: " : ", or 0: ") + std::string(range.zero);
  return out;
}

std::string out_of_range(const Message& message) {
  const google::protobuf::Descriptor* d = message.GetDescriptor();
  for (int i = 0; i < d->field_count(); ++i) {
    const FieldDescriptor* field = d->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) continue;
    if (std::string fault = check_field(message, field); !fault.empty()) return fault;
  }
  return {};
}

}  // namespace tactus::wire
