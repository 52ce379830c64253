-- Uploads for wrk: each of 500 events of one app, of the four types as a fleet sends them.
-- Different ones in turn, so that neither cache nor compression is flattered by a single body.

local events, bodies_made = 500, 128
local bodies, turn = {}, 0

local function id()
    return string.format("%08x-%04x-4%03x", math.random(0, 0x7fffffff), math.random(0, 0xffff),
        math.random(0, 0xfff))
end

local function event(app, number)
    local at = 1764500000000 + math.random(0, 60000)
    local common = string.format(
        '"id":"%s","app":"%s","session":"%s","device":"%s","at":%d,"sent":%d,'
            .. '"build":"1.2.3","os":"iOS 18.1"',
        id(), app, id(), id(), at, at + 500)
    local kind = number % 20
    local own = '"ad_event","event":"shown","unit":"home-1","format":"interstitial"'
    if kind == 0 then own = '"soft_error","severity":"error","domain":"net"' end
    if kind > 0 and kind < 4 then own = '"session"' end
    if kind > 3 and kind < 7 then own = '"session","phase":"alive"' end
    if number % 200 == 7 then own = '"crash","kind":"signal"' end
    return '{"type":' .. own .. ',' .. common .. '}'
end

function init()
    math.randomseed(tonumber(tostring({}):sub(8)) or 1)
    for body = 1, bodies_made do
        local list = {}
        for number = 1, events do list[number] = event("app-" .. (body % 64), number) end
        bodies[body] = "[" .. table.concat(list, ",") .. "]"
    end
end

function request()
    turn = turn % bodies_made + 1
    return wrk.format("POST", "/v1/events", {["Content-Type"] = "application/json"}, bodies[turn])
end

function done(summary, latency)
    local seconds = summary.duration / 1e6
    local failed = summary.errors.status + summary.errors.read + summary.errors.write
        + summary.errors.timeout + summary.errors.connect
    io.write(string.format(
        "%d uploads of %d events in %.1f s, %d failed: %.0f events/s; "
            .. "p50 %.1f ms, p99 %.1f ms\n",
        summary.requests, events, seconds, failed, summary.requests * events / seconds,
        latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
