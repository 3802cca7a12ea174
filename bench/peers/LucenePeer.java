import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.queryparser.classic.QueryParser;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.TopFieldCollector;
import org.apache.lucene.search.TopFieldDocs;
import org.apache.lucene.store.FSDirectory;

/** Lucene behind three lines of text: ADD fields, COMMIT, FIND k query; hits in document order. */
class LucenePeer {
  public static void main(String[] arguments) throws Exception {
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 20);
    FSDirectory directory = FSDirectory.open(Paths.get(arguments[0]));
    IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer());
    config.setRAMBufferSizeMB(500);
    IndexWriter writer = new IndexWriter(directory, config);
    IndexSearcher searcher = null;
    QueryParser parser = new QueryParser("title", new WhitespaceAnalyzer());
    IndexSearcher.setMaxClauseCount(Integer.MAX_VALUE);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      if (line.startsWith("ADD\t")) {
        Document document = new Document();
        for (String part : line.substring(4).split("\t")) {
          int at = part.indexOf('=');
          document.add(
              new TextField(part.substring(0, at), part.substring(at + 1), Field.Store.NO));
        }
        writer.addDocument(document);
      } else if (line.equals("COMMIT")) {
        writer.forceMerge(1);
        writer.close();
        searcher = new IndexSearcher(DirectoryReader.open(directory));
        searcher.setQueryCache(new org.apache.lucene.search.LRUQueryCache(10000, 256L << 20));
        out.println("DONE");
        out.flush();
      } else {
        String[] parts = line.split("\t", 3);
        int k = Integer.parseInt(parts[1]);
        StringBuilder answer = new StringBuilder();
        try {
          long start = System.nanoTime();
          Query query = parser.parse(parts[2]);
          TopFieldDocs found =
              searcher.search(
                  query, TopFieldCollector.createSharedManager(
                      Sort.INDEXORDER, k, null, Integer.MAX_VALUE));
          long seconds = System.nanoTime() - start;
          answer.append(seconds).append(' ').append(found.totalHits.value);
          for (ScoreDoc hit : found.scoreDocs) answer.append(' ').append(hit.doc);
        } catch (Exception | StackOverflowError error) {
          answer.setLength(0);
          answer.append("ERROR ").append(String.valueOf(error.getMessage()).replace('\n', ' '));
        }
        out.println(answer);
        out.flush();
      }
    }
  }
}
