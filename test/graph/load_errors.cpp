#include "../../examples/graph/build_csr.hpp"
#include "../../examples/graph/load.hpp"
#include "gap_writer.hpp"
#include "host/temp_folder.hpp"

#include <doctest/doctest.h>

#include <cstring>

namespace {

/// The message of the `load_error` that loading gives, without the folder; empty if there is none.
std::string message(const gnstor::test::temp_folder& folder, const std::string& path) {
  try {
    (void)graph::load(path);
  } catch (const graph::load_error& error) {
    std::string text = error.what();
    const std::string prefix = folder.path("");
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
    return text;
  }
  return {};
}

/// What loading a file of this name and content says.
std::string said(const std::string& name, std::string_view bytes) {
  const gnstor::test::temp_folder folder;
  return message(folder, folder.write(name, bytes));
}

const std::string el =
    "; a line of an .el file is \"source destination\" with vertex ids from 0 on";
const std::string pattern = "%%MatrixMarket matrix coordinate pattern general\n";
const std::string supported =
    "; a graph needs \"%%MatrixMarket matrix coordinate pattern|real|integer general|symmetric\"";

std::string small_sg() {
  const std::vector<graph::edge> edges{{0, 1}, {1, 2}};
  return graph_test::gap_bytes(graph::build_csr(3, edges, graph::direction::both), false);
}

template <class T>
std::string patched(std::string bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

}  // namespace

TEST_CASE("a file that cannot be read at all is named with the reason") {
  const gnstor::test::temp_folder folder;
  CHECK(message(folder, folder.path("none.sg")) ==
        "none.sg: cannot open: No such file or directory; check the path and its permissions");
  CHECK(said("g.el", "") == "g.el: is empty; write or download the graph again");
  std::filesystem::create_directory(folder.path("d.mtx"));
  CHECK(message(folder, folder.path("d.mtx")) ==
        "d.mtx: is not a regular file; give the path of a graph file");
}

TEST_CASE("an unknown extension lists the known ones") {
  CHECK(said("g.txt", "0 1\n") ==
        "g.txt: unknown extension \".txt\"; known are .sg and .wsg (GAP serialized), .el and .wel "
        "(edge list), .mtx (Matrix Market)");
  CHECK(said("g", "0 1\n").starts_with("g: unknown extension \"\""));
}

TEST_CASE("a bad line of an edge list is named by its number") {
  CHECK(said("g.el", "0 1\n1 x2\n") == "g.el:2: destination id \"x2\" is not a whole number" + el);
  CHECK(said("g.el", "0 1\n\n# c\n-3 1\n") == "g.el:4: source id \"-3\" is negative" + el);
  CHECK(said("g.el", "7\n") == "g.el:1: destination id is missing" + el);
  CHECK(said("g.el", "1 2 3\n") == "g.el:1: unexpected \"3\"" + el);
  CHECK(said("g.el", "1 2.5\n") == "g.el:1: destination id \"2.5\" is not a whole number" + el);
  CHECK(said("g.el", "1 99999999999999999999\n") ==
        "g.el:1: destination id \"99999999999999999999\" is too large" + el);
  CHECK(said("g.el", "1 2147483648\n") ==
        "g.el:1: vertex id 2147483648 is out of range; ids go from 0 to 2147483647: renumber the "
        "vertices");
  CHECK(said("g.el", "# nothing\n") == "g.el: holds no edge" + el);
  CHECK(said("g.wel", "1 2\n").starts_with("g.wel:1: weight is missing; a line of a .wel file"));
  CHECK(said("g.wel", "1 2 heavy\n").starts_with("g.wel:1: weight \"heavy\" is not a number; "));
}

TEST_CASE("a Matrix Market header that is no graph is refused with what is supported") {
  CHECK(said("g.mtx", "1 2\n") == "g.mtx:1: the first line is no Matrix Market header" + supported);
  CHECK(said("g.mtx", "%%MatrixMarket vector coordinate real general\n") ==
        "g.mtx:1: unsupported object \"vector\"" + supported);
  CHECK(said("g.mtx", "%%MatrixMarket matrix array real general\n") ==
        "g.mtx:1: unsupported format \"array\"" + supported);
  CHECK(said("g.mtx", "%%MatrixMarket matrix coordinate complex general\n") ==
        "g.mtx:1: unsupported field \"complex\"" + supported);
  CHECK(said("g.mtx", "%%MatrixMarket matrix coordinate real hermitian\n") ==
        "g.mtx:1: unsupported symmetry \"hermitian\"" + supported);
}

TEST_CASE("a Matrix Market size line that is no graph's is refused") {
  const std::string size = "; the line after the comments is \"rows columns entries\"";
  CHECK(said("g.mtx", pattern + "% only comments\n") ==
        "g.mtx: ends before the size line: truncated" + size);
  CHECK(said("g.mtx", pattern + "3 3\n") == "g.mtx:2: number of entries is missing" + size);
  CHECK(said("g.mtx", pattern + "3 3 -1\n") ==
        "g.mtx:2: number of entries \"-1\" is negative" + size);
  CHECK(said("g.mtx", pattern + "3 4 1\n1 1\n") ==
        "g.mtx:2: a matrix of 3 rows and 4 columns; a graph needs a square matrix");
  CHECK(said("g.mtx", pattern + "0 0 0\n") ==
        "g.mtx:2: 0 rows are out of range; a graph has 1 to 2147483648 vertices");
  CHECK(said("g.mtx", pattern + "9999999999 9999999999 0\n")
            .starts_with("g.mtx:2: 9999999999 rows are"));
}

TEST_CASE("a Matrix Market file with wrong counts or entries is refused") {
  const std::string line = "; a line is \"row column\" with ids from 1 on";
  CHECK(said("g.mtx", pattern + "3 3 3\n1 2\n2 3\n") ==
        "g.mtx: the size line says 3 entries, the file holds 2: truncated or wrong count; download "
        "it "
        "again or correct the count");
  CHECK(said("g.mtx", pattern + "3 3 1\n1 2\n2 3\n") ==
        "g.mtx:4: an entry more than the 1 of the size line; correct the count or remove the line");
  CHECK(said("g.mtx", pattern + "3 3 1\n0 2\n") ==
        "g.mtx:3: row 0 is out of range; ids go from 1 to 3, the number of rows");
  CHECK(said("g.mtx", pattern + "3 3 1\n2 4\n") ==
        "g.mtx:3: column 4 is out of range; ids go from 1 to 3, the number of rows");
  CHECK(said("g.mtx", pattern + "3 3 1\n2 -1\n") == "g.mtx:3: column \"-1\" is negative" + line);
  CHECK(said("g.mtx", pattern + "3 3 1\n2\n") == "g.mtx:3: column is missing" + line);
  CHECK(said("g.mtx", pattern + "3 3 1\n2 1 0.5\n") == "g.mtx:3: unexpected \"0.5\"" + line);
  CHECK(said("g.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n2 1\n") ==
        "g.mtx:3: value is missing; a line is \"row column value\" with ids from 1 on");
}

TEST_CASE("a truncated or overlong GAP serialized graph is refused") {
  const std::string whole = small_sg();  // 17 + 4 * 8 + 4 * 4 bytes
  const std::string rewrite =
      "; write the file again with the GAP converter (converter -f GRAPH -b FILE.sg)";
  CHECK(said("g.sg", whole).empty());
  CHECK(said("g.sg", whole.substr(0, 16)) ==
        "g.sg: holds 16 bytes, the header alone has 17: truncated" + rewrite);
  CHECK(said("g.sg", whole.substr(0, 60)) ==
        "g.sg: holds 60 bytes, its header (3 vertices, 4 edges) says 65: truncated" + rewrite +
            "; unweighted graphs end in .sg, weighted ones in .wsg");
  CHECK(said("g.sg", whole + "x").find("says 65: wrong counts;") != std::string::npos);
  CHECK(said("g.wsg", whole).find("says 81: truncated;") != std::string::npos);
  CHECK(said("g.sg", patched(whole, 0, '\1')).find("says 113: truncated;") != std::string::npos);
}

TEST_CASE("a GAP serialized graph with damaged fields is refused by the byte") {
  const std::string whole = small_sg();
  const std::string damaged = "; the file is damaged: write or download it again";
  CHECK(said("g.sg", patched(whole, 0, '7')) ==
        "g.sg: byte 0: the directed flag is 55, not 0 or 1; check that this is a GAP serialized "
        "graph");
  CHECK(said("g.sg", patched(whole, 1, std::int64_t{-4}))
            .starts_with("g.sg: byte 1: the number of edges is -4, negative; write"));
  CHECK(said("g.sg", patched(whole, 9, std::int64_t{1} << 40))
            .starts_with(
                "g.sg: byte 9: the number of vertices is 1099511627776, out of range; write"));
  CHECK(said("g.sg", patched(whole, 9, std::int64_t{0}))
            .starts_with("g.sg: byte 9: the number of vertices is 0, out of range; write"));
  CHECK(said("g.sg", patched(whole, 17, std::int64_t{1})) ==
        "g.sg: byte 17: offset 1 of vertex 0 is not between 0 and 0" + damaged);
  CHECK(said("g.sg", patched(whole, 33, std::int64_t{5})) ==
        "g.sg: byte 33: offset 5 of vertex 2 is not between 1 and 4" + damaged);
  CHECK(said("g.sg", patched(whole, 33, std::int64_t{0})) ==
        "g.sg: byte 33: offset 0 of vertex 2 is not between 1 and 4" + damaged);
  CHECK(said("g.sg", patched(whole, 41, std::int64_t{3})) ==
        "g.sg: byte 41: offset 3 of vertex 3 is not between 4 and 4" + damaged);
  CHECK(said("g.sg", patched(whole, 53, std::int32_t{3})) ==
        "g.sg: byte 53: vertex id 3 is out of range: the graph has 3 vertices" + damaged);
  CHECK(said("g.sg", patched(whole, 49, std::int32_t{-1})) ==
        "g.sg: byte 49: vertex id -1 is negative: the graph has 3 vertices" + damaged);
}
