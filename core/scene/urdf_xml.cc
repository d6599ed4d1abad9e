#include "core/scene/urdf_xml.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/check.h"

namespace tactus {
namespace {

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// "${x}" or "$(find x)": what xacro would have replaced.
bool has_leftover(std::string_view text) {
  return text.find("${") != std::string_view::npos || text.find("$(") != std::string_view::npos;
}

// Locale-free; a leading plus is allowed, as in many files.
bool parse_number(std::string_view word, double& out) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  const char* end = word.data() + word.size();
  const auto result = std::from_chars(word.data(), end, out);
  return result.ec == std::errc() && result.ptr == end && std::isfinite(out);
}

// What goes into a message of what was found: no page-long attributes, nothing that does not print.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return "\"" + out + (text.size() > 80 ? "..." : "") + "\"";
}

bool among(std::initializer_list<std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

void XmlElement::fail(const std::string& attribute, const std::string& message) const {
  std::string place = file_->name + ":" + std::to_string(line()) + ": ";
  if (!owner_.empty()) place += owner_ + ": ";
  place += "<" + tag() + ">";
  if (!attribute.empty()) place += " " + attribute;
  throw InputError(place + ": " + message);
}

std::string XmlElement::text(const char* attribute, std::optional<std::string> fallback) const {
  const char* value = element_->Attribute(attribute);
  if (!value) {
    if (fallback) return *fallback;
    fail(attribute, "missing; expected this attribute");
  }
  if (has_leftover(value))
    fail(attribute, "found " + shown(value) + ", expected a value: a macro is left in it; run xacro on the file first");
  return value;
}

std::string XmlElement::name(const char* attribute) const {
  std::string value = text(attribute);
  if (!is_name(value))
    fail(attribute, "found " + shown(value) + ", expected a name of 1 to 64 characters out of A-Z a-z 0-9 _ . -");
  return value;
}

std::vector<double> XmlElement::numbers(const char* attribute, std::size_t count, Range range) const {
  const std::string expected =
      count == 1 ? "a finite number" + range.text() : std::to_string(count) + " finite numbers" + range.text();
  if (!has(attribute)) fail(attribute, "missing; expected " + expected);
  const std::string value = text(attribute);
  std::vector<double> out;
  for (std::size_t i = 0; i < value.size();) {
    while (i < value.size() && blank(value[i])) ++i;
    std::size_t end = i;
    while (end < value.size() && !blank(value[end])) ++end;
    double x = 0;
    if (end == i) break;
    if (!parse_number(std::string_view(value).substr(i, end - i), x) || !range.contains(x))
      fail(attribute, "found " + shown(value) + ", expected " + expected);
    out.push_back(x);
    i = end;
  }
  if (out.size() != count) fail(attribute, "found " + shown(value) + ", expected " + expected);
  return out;
}

double XmlElement::number(const char* attribute, Range range, std::optional<double> fallback) const {
  if (fallback && !has(attribute)) return *fallback;
  return numbers(attribute, 1, range)[0];
}

Vec3 XmlElement::vec3(const char* attribute, std::optional<Vec3> fallback, Range range) const {
  if (fallback && !has(attribute)) return *fallback;
  const auto x = numbers(attribute, 3, range);
  return {x[0], x[1], x[2]};
}

void XmlElement::known_attributes(std::initializer_list<std::string_view> names) const {
  for (const auto* a = element_->FirstAttribute(); a; a = a->Next()) {
    const std::string_view attribute = a->Name();
    if (!among(names, attribute) && !attribute.starts_with("xmlns") && attribute.find(':') == std::string_view::npos)
      ++file_->skipped["attribute " + std::string(attribute) + " of <" + tag() + ">"];
  }
}

std::optional<XmlElement> XmlElement::child(const char* wanted) const {
  const auto* first = element_->FirstChildElement(wanted);
  if (!first) return std::nullopt;
  if (const auto* second = first->NextSiblingElement(wanted))
    XmlElement(*file_, *second, owner_).fail("", "found a second one, expected one at most");
  return XmlElement(*file_, *first, owner_);
}

XmlElement XmlElement::required_child(const char* wanted, const std::string& expected) const {
  if (auto found = child(wanted)) return *found;
  fail("", "missing <" + std::string(wanted) + ">; expected " + expected);
}

std::vector<XmlElement> XmlElement::children(const char* wanted) const {
  std::vector<XmlElement> out;
  for (const auto* e = element_->FirstChildElement(wanted); e; e = e->NextSiblingElement(wanted))
    out.emplace_back(*file_, *e, owner_);
  return out;
}

std::vector<XmlElement> XmlElement::children() const {
  return children(nullptr);
}

void XmlElement::known_children(std::initializer_list<std::string_view> tags) const {
  for (const XmlElement& e : children()) {
    const std::string found = e.tag();
    if (found.starts_with("xacro:"))
      e.fail("", "found an element of xacro, expected plain URDF: run xacro on the file first");
    if (!among(tags, found)) ++file_->skipped["<" + found + ">"];
  }
}

XmlElement parse_xml(const std::string& text, XmlFile& file, tinyxml2::XMLDocument& document) {
  if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS) {
    const int line = std::max(1, document.ErrorLineNum());
    throw InputError(file.name + ":" + std::to_string(line) + ": not XML: " + document.ErrorName());
  }
  const tinyxml2::XMLElement* root = document.RootElement();
  if (!root) throw InputError(file.name + ":1: found no element, expected <robot>");
  return {file, *root, ""};
}

}  // namespace tactus
