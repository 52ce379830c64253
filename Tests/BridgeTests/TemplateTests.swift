// Templates as text: what is set, and that nothing else changes, byte for byte.
import BrakeWire
import Testing

@testable import Bridge

@Suite struct TemplateTests {
    /// Written as a person's tools might: all kinds of spaces, escapes, numbers and orders.
    static let rich = """
        {
          "conditions": [ {"name":"beta","expression":"percent <= 10","tagColor":"BLUE"},
            {"name" : "ios", "expression":"device.os == 'ios'"} ],
        \t"parameters": {
            "welcome": {"defaultValue":{"value":"\\u00e4 \\"x\\" } ] {"},"description":"",
              "conditionalValues":{"beta":{"rolloutValue":{"rolloutId":"r1","value":"b","percent":5.50}}}},
            "ad_throttle_state" : { "description":"ours","valueType":"STRING",
              "conditionalValues":{"beta":{"value":"Normal"},"ios":{"personalizationValue":{"personalizationId":"p"}}},
              "defaultValue" : { "value" : "Normal" } }
          },
          "parameterGroups":{"old":{"description":"g","parameters":{"a":{"defaultValue":{"useInAppDefault":true}}}}},
          "extra": [1e9, -0.0, true, null, {}, [], ""]
        }
        """

    private func template(_ text: String) throws -> RemoteConfigTemplate {
        try RemoteConfigTemplate(Array(text.utf8), parameter: "ad_throttle_state")
    }

    private func set(
        _ text: String, _ values: [(slot: TemplateSlot, value: String)],
        conditions: [String: String] = [:]
    ) throws -> String {
        let bytes = try template(text).setting(
            values, conditions: conditions, description: "why")
        #expect(DocumentReader().read(bytes) != nil, "still JSON")
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `only the value changes: conditions, rollouts, groups and spaces stay`() throws {
        let text = try set(Self.rich, [(.usual, "Halt")])
        let expected = Self.rich
            .replacing("\"value\" : \"Normal\"", with: "\"value\" : \"Halt\"")
            .replacing(
                "null, {}, [], \"\"]",
                with: "null, {}, [], \"\"],\"version\":{\"description\":\"why\"}")
        #expect(text == expected)
    }

    @Test func `the value under a condition changes alone, and a new one goes behind the others`()
        throws
    {
        let condition = TemplateSlot.condition("beta")
        let changed = try set(Self.rich, [(condition, "Halt")])
        #expect(changed.contains("\"beta\":{\"value\":\"Halt\"}"))
        #expect(changed.contains("\"value\" : \"Normal\""))
        let added = try set(
            Self.rich, [(.condition("AdBrake a"), "Halt"), (.condition("AdBrake b"), "Caution")],
            conditions: ["AdBrake a": "app.id == '1:2:ios:a'", "AdBrake b": "app.id == 'b'"])
        let document = try #require(DocumentReader().read(Array(added.utf8)))
        let names = document["conditions"]?.array?.compactMap { $0["name"]?.text }
        #expect(names == ["beta", "ios", "AdBrake a", "AdBrake b"])
        #expect(document["conditions"]?.array?[2]["expression"]?.text == "app.id == '1:2:ios:a'")
        let values = document["parameters"]?["ad_throttle_state"]?["conditionalValues"]
        #expect(values?.fields?.map(\.key) == ["beta", "ios", "AdBrake a", "AdBrake b"])
        #expect(values?["AdBrake b"]?["value"]?.text == "Caution")
        // With what was added taken out again, it is what it was.
        let rest =
            added
            .replacing(
                ",{\"name\":\"AdBrake a\",\"expression\":\"app.id == '1:2:ios:a'\"}"
                    + ",{\"name\":\"AdBrake b\",\"expression\":\"app.id == 'b'\"}", with: ""
            )
            .replacing(
                ",\"AdBrake a\":{\"value\":\"Halt\"},\"AdBrake b\":{\"value\":\"Caution\"}",
                with: ""
            )
            .replacing(",\"version\":{\"description\":\"why\"}", with: "")
        #expect(rest == Self.rich)
    }

    @Test(arguments: [
        "{}", "{ }", "{\"parameters\":{}}", "{\"parameters\":{\"x\":{}},\"conditions\":[]}",
        "{\"conditions\":[ ]}", "{\"version\":{\"versionNumber\":\"4\"}}",
        "{\"parameters\":{\"ad_throttle_state\":{}}}",
        "{\"parameters\":{\"ad_throttle_state\":{\"conditionalValues\":{ }}}}",
        "{\"parameterGroups\":{\"g\":{\"parameters\":{\"ad_throttle_state\":{\"valueType\":\"STRING\"}}}}}",
    ])
    func `what is missing is made where it belongs`(_ text: String) throws {
        let made = try set(
            text, [(.usual, "Throttle"), (.condition("AdBrake a"), "Halt")],
            conditions: ["AdBrake a": "app.id == 'a'"])
        let after = try template(made)
        #expect(after.content(of: .usual) == .text("Throttle"), "\(made)")
        #expect(after.content(of: .condition("AdBrake a")) == .text("Halt"))
        let document = try #require(DocumentReader().read(Array(made.utf8)))
        #expect(document["conditions"]?.array?.last?["expression"]?.text == "app.id == 'a'")
        #expect(document["version"]?.fields?.map(\.key) == ["description"])
        if text.contains("parameterGroups") { #expect(document["parameters"] == nil) }
    }

    @Test func `what a person has made of a value on purpose is told apart`() throws {
        let rich = try template(Self.rich)
        #expect(rich.content(of: .usual) == .text("Normal"))
        #expect(rich.content(of: .condition("beta")) == .text("Normal"))
        #expect(rich.content(of: .condition("ios")) == .special)
        #expect(rich.content(of: .condition("none")) == .absent)
        let own = #"{"parameters":{"ad_throttle_state":{"defaultValue":{"useInAppDefault":true}}}}"#
        #expect(try template(own).content(of: .usual) == .special)
    }

    @Test(arguments: ["", "[]", "null", "{", "{\"a\":1,}", "\"x\""])
    func `what is no template is refused`(_ text: String) {
        #expect(throws: BridgeFault.self) { try template(text) }
    }

    @Test func `a description keeps to the service's limit, in whole characters`() {
        let long = String(repeating: "ä€", count: 100)
        let cut = RemoteConfigTemplate.cut(long)
        #expect(cut.utf8.count <= 256)
        #expect(cut.hasSuffix("..."))
        #expect(long.hasPrefix(cut.dropLast(3)))
        #expect(RemoteConfigTemplate.cut("short") == "short")
    }
}
