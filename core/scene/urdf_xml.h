// XML elements of a robot description read strictly: every complaint names file, line and element, says what was found
// and what is expected. What is not asked for is counted and told once a kind, not refused.
#pragma once

#include <tinyxml2.h>

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/math/spatial.h"
#include "core/scene/strict_table.h"

namespace tactus {

struct XmlFile {
  std::string name;                    // as shown in messages
  std::map<std::string, int> skipped;  // "<gazebo>" -> how many
};

class XmlElement {
 public:
  // owner: what a person calls it: link "arm", joint "elbow"; empty at the root.
  XmlElement(XmlFile& file, const tinyxml2::XMLElement& element, std::string owner)
      : file_(&file), element_(&element), owner_(std::move(owner)) {}

  [[nodiscard]] std::string tag() const { return element_->Name(); }
  [[nodiscard]] int line() const { return element_->GetLineNum(); }
  [[nodiscard]] const std::string& owner() const noexcept { return owner_; }

  // Attributes. Without a fallback it must be there.
  [[nodiscard]] bool has(const char* attribute) const { return element_->Attribute(attribute) != nullptr; }
  [[nodiscard]] std::string text(const char* attribute, std::optional<std::string> fallback = {}) const;
  [[nodiscard]] std::string name(const char* attribute) const;  // is_name
  [[nodiscard]] double number(const char* attribute, Range range, std::optional<double> fallback = {}) const;
  [[nodiscard]] Vec3 vec3(const char* attribute, std::optional<Vec3> fallback = {}, Range range = kAny) const;
  // As numbers separated by blanks.
  [[nodiscard]] std::vector<double> numbers(const char* attribute, std::size_t count, Range range) const;
  // Counts the attributes that are not among these.
  void known_attributes(std::initializer_list<std::string_view> names) const;

  // The child of that tag; a second one is refused.
  [[nodiscard]] std::optional<XmlElement> child(const char* tag) const;
  [[nodiscard]] XmlElement required_child(const char* tag, const std::string& expected) const;
  [[nodiscard]] std::vector<XmlElement> children(const char* tag) const;
  [[nodiscard]] std::vector<XmlElement> children() const;
  [[nodiscard]] XmlElement with_owner(std::string owner) const { return {*file_, *element_, std::move(owner)}; }
  // Counts the children that are not among these; what xacro leaves behind is refused.
  void known_children(std::initializer_list<std::string_view> tags) const;

  void skip(const std::string& what) const { ++file_->skipped[what]; }

  // "file:line: owner: <tag> attribute: message"
  [[noreturn]] void fail(const std::string& attribute, const std::string& message) const;

 private:
  XmlFile* file_;
  const tinyxml2::XMLElement* element_;
  std::string owner_;
};

// The root element of a text that is XML; document keeps it. Throws InputError.
XmlElement parse_xml(const std::string& text, XmlFile& file, tinyxml2::XMLDocument& document);

}  // namespace tactus
