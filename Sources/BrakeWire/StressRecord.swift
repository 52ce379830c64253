// The record of how much an app's ads annoy people, as it stands in the stress table.

package import BrakeModel

/// An app's stress index with the epoch that published it.
package struct StressRecord: Sendable, Equatable {
    /// The version of the format that we write and read.
    package static let version: Int64 = 1

    package var index: StressIndex
    package var partition: Int
    package var epoch: Int64

    package init(index: StressIndex, partition: Int, epoch: Int64) {
        self.index = index
        self.partition = partition
        self.epoch = epoch
    }

    package func encode() -> [UInt8] {
        JSONWriter.bytes(capacity: 1_024) { record in
            record.object { record in
                record.field("v", StressRecord.version)
                record.field("app", index.app.text)
                record.write(index)
                record.field("partition", partition)
                record.field("epoch", epoch)
            }
        }
    }

    package static func decode(
        _ bytes: UnsafeRawBufferPointer, with reader: DocumentReader
    ) throws(Rejection) -> StressRecord {
        let record = unsafe try reader.record(bytes, version: version)
        guard let app = (record["app"]?.text).flatMap({ AppID($0) }) else { throw .badApp }
        let countries = try record.required("countries", \.array)
        guard countries.count <= StressIndex.countriesMax else { throw .badField }
        return StressRecord(
            index: StressIndex(
                app: app, clock: try record.required("clock", \.integer),
                all: try StressPlace(record["all"] ?? .null),
                countries: try countries.mapRejecting(StressPlace.init)),
            partition: try record.required("partition", \.count),
            epoch: try record.required("epoch", \.integer))
    }
}

extension JSONWriter {
    /// The index without its app.
    package mutating func write(_ index: StressIndex) {
        field("clock", index.clock)
        object("all") { $0.write(index.all) }
        array("countries") { list in
            for place in index.countries { list.object { $0.write(place) } }
        }
    }

    private mutating func write(_ place: StressPlace) {
        if let country = place.country { field("country", country.text) }
        object("hour") { $0.write(place.hour) }
        object("day") { $0.write(place.day) }
        field("dismiss_trend", place.dismissTrend)
        field("as_nf", place.nonFatals)
        field("rule", place.rule)
    }

    private mutating func write(_ counts: StressCounts) {
        field("impressions", counts.impressions)
        field("signals", counts.signals)
        field("per_1000", counts.perThousand)
        field("dismissals", counts.dismissals)
        field("delay_ms", counts.delay)
    }
}

extension StressPlace {
    fileprivate init(_ value: JSONValue) throws(Rejection) {
        let text = value["country"]?.text
        let country = text.flatMap { CountryCode($0) }
        guard text == nil || country != nil else { throw .badField }
        self.init(
            country: country, hour: try StressCounts(value["hour"] ?? .null),
            day: try StressCounts(value["day"] ?? .null),
            nonFatals: try value.required("as_nf") { value in
                value.count.flatMap { (0...2).contains($0) ? $0 : nil }
            }, rule: value["rule"]?.text)
    }
}

extension StressCounts {
    fileprivate init(_ value: JSONValue) throws(Rejection) {
        self.init()
        impressions = Int64(try value.required("impressions", \.count))
        signals = Int64(try value.required("signals", \.count))
        dismissals = Int64(try value.required("dismissals", \.count))
        delay = Int64(try value.required("delay_ms", \.count))
    }
}
